/** Kills the mirror repeatedly under load, and looks for every answered delivery after each start. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { createRandom } from '../../src/sandbox/world/random.ts';
import { CrashConsumer } from './consumer.ts';
import { startMirror, verify, type Mirror, type Role } from './mirror.ts';

export interface CrashOptions {
  /** A slow machine is killed more often, until it has answered ten deliveries for each of these. */
  readonly kills: number;
  readonly seed: number;
  readonly folder: string;
  /** Stock changes per second. */
  readonly rate: number;
  readonly products: number;
  readonly onKilled: (report: CrashReport) => void;
}

export interface CrashReport {
  kills: number;
  /** Kills of one half alone, while the other half kept running. */
  killsOfHalves: number;
  /** Deliveries answered 204, each body once. */
  answered: number;
  /** Those found after a restart. */
  found: number;
  /** Rows of the feed that the consumer saw. */
  changesSeen: number;
  /** Empty if every promise held. */
  problems: string[];
}

type Half = Exclude<Role, 'both'>;

/** Long enough for a slow machine; only a fault takes longer. */
const WITHIN_MS = 90_000;
const ANSWERED_PER_KILL = 10;

export async function crash(options: CrashOptions): Promise<CrashReport> {
  const { kills, seed, folder, rate, products, onKilled } = options;
  const random = createRandom(seed, 'kills');
  const path = join(folder, 'mirror.db');
  const report: CrashReport = {
    kills: 0,
    killsOfHalves: 0,
    answered: 0,
    found: 0,
    changesSeen: 0,
    problems: [],
  };
  const consumer = new CrashConsumer(path);
  const answered = new Set<string>();
  const toFind = new Set<string>();
  const sandbox = await startSandbox({ seed, products });
  let mirror: Mirror | null = null;
  const halves = new Map<Half, Mirror>();
  sandbox.deliveries.onSettled(({ delivery: { requestId }, outcome, status }) => {
    if (outcome !== 'answered' || status !== 204 || answered.has(requestId)) return;
    answered.add(requestId);
    toFind.add(requestId);
    report.answered = answered.size;
  });
  const find = async (expected: readonly string[], ops: string): Promise<void> => {
    const missing = await missingOf(expected, ops);
    for (const id of expected) toFind.delete(id);
    report.found += expected.length - missing.length;
    report.problems.push(...missing.map((id) => `delivery ${id} was answered 204 and is gone after a kill`));
  };
  /** Starts the mirror, waits until it listens, and looks for earlier answered deliveries. */
  const start = async (): Promise<{ readonly mirror: Mirror; readonly ops: string }> => {
    const started = (mirror = startMirror(sandbox, path));
    const { webhooks, ops } = await started.listening;
    const expected = [...toFind];
    sandbox.webhookUrl = webhooks ?? null;
    await find(expected, ops);
    return { mirror: started, ops };
  };
  /** @returns the private address. */
  const startHalf = async (role: Half): Promise<string> => {
    const half = startMirror(sandbox, path, role);
    halves.set(role, half);
    const { webhooks, ops } = await half.listening;
    if (webhooks !== undefined) sandbox.webhookUrl = webhooks;
    return ops;
  };
  /** Kills one of two processes, and starts it again next to the other. */
  const killHalf = async (role: Half): Promise<void> => {
    await startHalf('receiver');
    let ops = await startHalf('mirror');
    await sleep(random.int(0, 1_600));
    await halves.get(role)?.end('SIGKILL');
    report.kills += 1;
    report.killsOfHalves += 1;
    await sleep(random.int(0, 300));
    const expected = [...toFind];
    const found = await startHalf(role);
    if (role === 'mirror') ops = found;
    await find(expected, ops);
    for (const [name, half] of halves) {
      const code = await half.end('SIGTERM');
      if (code !== 0) report.problems.push(`after SIGTERM the ${name} ended with exit code ${code}`);
    }
    halves.clear();
  };
  const startedMs = performance.now();
  try {
    misbehave(sandbox);
    sandbox.traffic.start(rate);
    consumer.start();
    const isEnough = (): boolean => report.kills >= kills && answered.size >= kills * ANSWERED_PER_KILL;
    while (!isEnough() && report.problems.length === 0) {
      if (report.kills % 4 === 3) {
        await killHalf(random.chance(0.5) ? 'receiver' : 'mirror');
        report.changesSeen = consumer.seen;
        report.problems.push(...consumer.problems.splice(0));
        onKilled(report);
        continue;
      }
      const draw = random.next();
      if (draw < 0.15) {
        mirror = startMirror(sandbox, path);
        await sleep(random.int(0, 1_000));
      } else {
        const { ops } = await start();
        if (draw < 0.3) await askForResync(ops);
        await sleep(draw > 0.95 ? random.int(3_500, 6_000) : random.int(0, 1_600));
      }
      await mirror?.end('SIGKILL');
      report.kills += 1;
      report.changesSeen = consumer.seen;
      report.problems.push(...consumer.problems.splice(0));
      const failure = mirror?.failure ?? null;
      if (failure !== null) report.problems.push(failure);
      onKilled(report);
    }
    if (report.problems.length > 0) return report;

    sandbox.traffic.stop();
    behave(sandbox);
    const last = await start();
    await sandbox.network.flush();
    await find([...toFind], last.ops);
    // A product waits about as long as its conflicts have lasted (docs/architecture.md#conflicts-that-no-read-settles).
    const loadMs = performance.now() - startedMs;
    report.problems.push(...(await untilAtRest(path, loadMs + WITHIN_MS)));
    const difference = await verify(sandbox, path);
    if (difference !== null) report.problems.push(difference);
    const code = await last.mirror.end('SIGTERM');
    if (code !== 0) report.problems.push(`after SIGTERM the mirror ended with exit code ${code}`);
    consumer.finish();
    report.changesSeen = consumer.seen;
    report.problems.push(...consumer.problems, ...damageOf(path));
    return report;
  } catch (error) {
    report.problems.push(error instanceof Error ? error.message : String(error));
    return report;
  } finally {
    consumer.stop();
    await mirror?.end('SIGKILL');
    for (const half of halves.values()) await half.end('SIGKILL');
    await sandbox.stop();
  }
}

function misbehave({ network, reads }: Sandbox): void {
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
}

function behave({ network, reads }: Sandbox): void {
  network.loss = 0;
  reads.stale.probability = 0;
  reads.slow.probability = 0;
  reads.fail.serverError = 0;
}

interface Page {
  readonly deliveries: readonly { readonly request_id: string | null }[];
  readonly next: string | null;
}

/** @returns the request ids that `GET /api/deliveries` does not list. */
async function missingOf(requestIds: readonly string[], ops: string): Promise<string[]> {
  const missing = new Set(requestIds);
  let next: string | null = null;
  do {
    const after: string = next === null ? '' : `&after=${next}`;
    const answer = await fetch(`${ops}api/deliveries?limit=500${after}`);
    if (!answer.ok) throw new Error(`GET /api/deliveries was answered ${answer.status}`);
    const page = (await answer.json()) as Page;
    for (const { request_id: id } of page.deliveries) if (id !== null) missing.delete(id);
    next = page.next;
  } while (missing.size > 0 && next !== null);
  return [...missing];
}

async function askForResync(ops: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${ops}api/resync`, { method: 'POST', headers, body: '{}' });
  await answer.arrayBuffer();
}

/** Resolves once the mirror has nothing left to read. @returns what is still open after `withinMs`. */
async function untilAtRest(path: string, withinMs: number): Promise<string[]> {
  const db = new Database(path, { readonly: true });
  try {
    const status = db.prepare<[], { state: string; pending_reads: number; open_gaps: number }>(
      'SELECT state, state_cause, pending_reads, open_gaps FROM mirror_status',
    );
    const untilMs = performance.now() + withinMs;
    for (;;) {
      const row = status.get();
      if (row?.state === 'live' && row.pending_reads === 0 && row.open_gaps === 0) return [];
      if (performance.now() > untilMs) return [`not at rest at the end: ${JSON.stringify(row)}`];
      await sleep(250);
    }
  } finally {
    db.close();
  }
}

function damageOf(path: string): string[] {
  const db = new Database(path, { readonly: true });
  try {
    const found = db.prepare<[], string>('PRAGMA integrity_check').pluck().all();
    return found.filter((one) => one !== 'ok');
  } finally {
    db.close();
  }
}
