/** The course: kills under load, a check after each, quiet, and the verdict. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createRandom, type Random } from '../../src/sandbox/world/random.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { Answers } from './answers.ts';
import { Audit } from './audit.ts';
import { Consumer } from './consumer.ts';
import { age, attachLog, copyDatabase, removeDatabase, type Aged } from './files.ts';
import { spawnMirror, type MirrorChild } from './mirror-child.ts';
import { untilInstant, untilListening } from './instants.ts';
import { planKills, type KillPlan } from './plan.ts';
import { freePort } from './ports.ts';
import { Reference } from './reference.ts';
import type { CrashReport, Progress } from './report.ts';
import { endingOf, untilQuiet, type Ending } from './quiet.ts';

export interface CrashOptions {
  readonly kills: number;
  readonly seed: number;
  /** An empty folder of its own. */
  readonly folder: string;
  /** Stock changes per second. */
  readonly rate: number;
  readonly products: number;
  readonly onProgress: (progress: Progress) => void;
  /** Called after each kill, before anything is looked at. */
  readonly onKilled?: (databasePath: string, kills: number) => void;
}

const QUIET_WITHIN_MS = 90_000;
/** Every so many kills all pages are read; the last time always. */
const INTEGRITY_EVERY = 4;
const AGE_DAYS = 60;
/** More refusals than this are not the disk's doing. */
const REFUSED_SHARE = 0.1;

export async function crash(options: CrashOptions): Promise<CrashReport> {
  const sandbox = await startSandbox({ seed: options.seed, products: options.products });
  const course = new Course(options, sandbox);
  try {
    return await course.run();
  } finally {
    await course.end();
    await sandbox.stop();
  }
}

class Course {
  readonly #options: CrashOptions;
  readonly #sandbox: Sandbox;
  readonly #random: Random;
  readonly #path: string;
  readonly #answers: Answers;
  readonly #consumer: Consumer;
  readonly #reference: Reference;
  readonly #audit: Audit;
  readonly #problems: string[] = [];
  readonly #kills: Record<string, number> = {};
  readonly #runIds: number[] = [];
  #killCount = 0;
  #integrityChecks = 0;
  #aged: Aged = { logSeq: 0, changeSeq: 0 };
  #ports = { webhook: 0, ops: 0 };
  #child: MirrorChild | null = null;

  constructor(options: CrashOptions, sandbox: Sandbox) {
    this.#options = options;
    this.#sandbox = sandbox;
    this.#random = createRandom(options.seed, 'kills');
    this.#path = join(options.folder, 'mirror.db');
    this.#answers = new Answers(sandbox.deliveries);
    this.#consumer = new Consumer(this.#path);
    this.#reference = new Reference(join(options.folder, 'reference.db'));
    this.#audit = new Audit(this.#reference);
  }

  async run(): Promise<CrashReport> {
    this.#ports = { webhook: await freePort(), ops: await freePort() };
    this.#answers.killed(Date.now());
    let hasTraffic = false;
    for (const plan of planKills(this.#options.kills, this.#random)) {
      if (plan.moment !== 'first_start' && !hasTraffic) {
        this.#beginTraffic();
        hasTraffic = true;
      }
      await this.#live(plan);
      this.#killCount += 1;
      this.#kills[plan.moment] = (this.#kills[plan.moment] ?? 0) + 1;
      this.#options.onKilled?.(this.#path, this.#killCount);
      if (plan.moment === 'first_start') this.#checkFirstStart();
      else this.#check({ integrity: this.#killCount % INTEGRITY_EVERY === 0 });
      this.#options.onProgress({
        kills: this.#killCount,
        moment: plan.moment,
        answered: this.#answers.answered,
        found: this.#audit.found,
      });
      if (this.#problems.length > 0) return this.#report(null, null);
    }
    return this.#finish();
  }

  async end(): Promise<void> {
    this.#consumer.pause('closed');
    await this.#child?.end('SIGKILL');
    this.#reference.close();
  }

  #beginTraffic(): void {
    const { network, reads, traffic } = this.#sandbox;
    this.#sandbox.webhookUrl = `http://127.0.0.1:${this.#ports.webhook}/webhooks`;
    Object.assign(network, {
      loss: 0.03,
      duplicate: 0.1,
      reorder: 0.15,
      delayMs: { min: 0, max: 80 },
      tail: { probability: 0.02, maxMs: 1_500 },
    });
    Object.assign(reads, {
      stale: { probability: 0.1, ageMs: 1_500 },
      slow: { probability: 0.05, ms: 400 },
      latencyMs: { min: 0, max: 20 },
    });
    reads.fail.serverError = 0.03;
    traffic.start(this.#options.rate);
  }

  /** One life of the process, ended as planned. */
  async #live(plan: KillPlan): Promise<void> {
    if (plan.moment === 'first_start') removeDatabase(this.#path);
    if (plan.moment === 'prune') this.#age();
    const child = this.#spawn();
    if (plan.moment !== 'first_start') this.#consumer.start();
    try {
      const runId = await untilInstant(plan, child, { databasePath: this.#path, opsPort: this.#ports.ops });
      if (runId !== null) this.#runIds.push(runId);
    } catch (error) {
      this.#problems.push(error instanceof Error ? error.message : String(error));
    }
    if (child.failure !== null) this.#problems.push(child.failure);
    this.#answers.killed(Date.now());
    await child.end('SIGKILL');
    this.#child = null;
    this.#consumer.pause(this.#random.chance(0.5) ? 'closed' : 'kept');
  }

  #spawn(): MirrorChild {
    const child = spawnMirror(this.#sandbox, this.#path, this.#ports);
    this.#child = child;
    this.#answers.spawned(child.spawnedAtMs);
    child.listening.then(
      () => this.#answers.listening(Date.now()),
      () => undefined,
    );
    return child;
  }

  #age(): void {
    const aged = age(this.#path, AGE_DAYS);
    if (aged !== null && aged.logSeq > this.#aged.logSeq) this.#aged = aged;
  }

  #checkFirstStart(): void {
    const reference = new Reference(join(this.#options.folder, 'first-start.db'));
    try {
      this.#look((db) =>
        new Audit(reference).check(db, {
          integrity: true,
          answered: [],
          runIds: [],
          aged: { logSeq: 0, changeSeq: 0 },
        }),
      );
    } finally {
      reference.close();
      removeDatabase(join(this.#options.folder, 'first-start.db'));
    }
  }

  #check({ integrity }: { readonly integrity: boolean }): void {
    this.#look((db) => {
      if (integrity) this.#integrityChecks += 1;
      return this.#audit.check(db, {
        integrity,
        answered: this.#answers.takeAnswered(),
        runIds: this.#runIds,
        aged: this.#aged,
      });
    });
    this.#problems.push(...this.#consumer.check(this.#reference), ...this.#answers.takeProblems());
  }

  /**
   * Looks at a copy: what the kill left stays as it is for the next start, which recovers it as the copy is. While the
   * consumer keeps its connection nothing is recovered: what the shared memory did not yet say was committed, and was
   * therefore not answered, is overwritten. Then the next start finds what a connection beside the consumer's finds. The
   * event log, which nobody else has open, is always looked at in a copy.
   */
  #look(check: (db: Database.Database) => string[]): void {
    const copy = join(this.#options.folder, 'copy.db');
    if (!copyDatabase(this.#path, copy)) return;
    const db = this.#consumer.isConnected ? new Database(this.#path, { readonly: true }) : new Database(copy);
    try {
      attachLog(db, copy);
      this.#problems.push(...check(db));
    } finally {
      db.close();
    }
  }

  /** No more traffic, and no help: the last start must find the last losses by itself. */
  async #finish(): Promise<CrashReport> {
    const { traffic, network, reads } = this.#sandbox;
    traffic.stop();
    reads.stale.probability = 0;
    reads.slow.probability = 0;
    reads.fail.serverError = 0;
    network.loss = 0;
    const child = this.#spawn();
    this.#consumer.start();
    await untilListening(child);
    await network.flush();
    const isQuiet = await untilQuiet(this.#path, QUIET_WITHIN_MS);
    const quietMs = isQuiet ? Date.now() - child.spawnedAtMs : null;
    this.#consumer.pause('closed');
    if (child.failure !== null) this.#problems.push(child.failure);
    this.#answers.killed(Date.now());
    const code = await child.end('SIGTERM');
    this.#child = null;
    if (code !== 0) this.#problems.push(`stopped by SIGTERM the mirror ended with ${code}`);
    this.#check({ integrity: true });
    this.#problems.push(...this.#consumer.finish(this.#reference));
    const { answered, refused } = this.#answers;
    if (refused > answered * REFUSED_SHARE) this.#problems.push(`${refused} deliveries were answered 503`);
    const ending = endingOf(this.#path, this.#sandbox.truth);
    this.#problems.push(...ending.problems);
    return this.#report(quietMs, ending);
  }

  #report(quietMs: number | null, ending: Ending | null): CrashReport {
    const { sent, answered, refused, cut, lost, slowestMs, firstAnswerMs } = this.#answers;
    return {
      problems: this.#problems,
      kills: this.#kills,
      sent,
      answered,
      found: this.#audit.found,
      refused,
      cut,
      lost,
      slowestMs,
      firstAnswerMs,
      items: this.#reference.items,
      changesSeen: this.#consumer.seen,
      logEntries: this.#reference.lastSeq,
      mostBehind: this.#audit.mostBehind,
      integrityChecks: this.#integrityChecks,
      agedEntries: this.#aged.logSeq,
      quietMs,
      ending,
    };
  }
}
