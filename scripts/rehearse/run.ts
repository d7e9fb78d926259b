/** The steps of a rehearsal, and what readers of the mirror's file see meanwhile. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { compareWithTruth, missedVariants } from '../../src/cli/demo/compare.ts';
import type { DeliveryRecord } from '../../src/sandbox/network/deliveries.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { freePort, INBOX_FILE } from '../proxies/receivers.ts';
import { Half } from './half.ts';

export interface RehearsalOptions {
  readonly folder: string;
  /** Two versions: folders with `dist/bin.js`. */
  readonly from: string;
  readonly to: string;
  /** Stock changes per second. */
  readonly rate: number;
  readonly products: number;
  readonly onStep: (step: Step) => void;
}

export interface Step {
  readonly name: string;
  readonly sent: number;
  /** Without a `204`, but on disk. */
  readonly late: number;
  /** Neither answered nor on disk. */
  readonly lost: number;
  /** Of the mirror, as its file says it. */
  readonly notLiveMs: number;
  readonly mostSuspect: number;
  readonly suspectMs: number;
}

const SAMPLE_EVERY_MS = 50;
const WITHIN_MS = 90_000;
/** Before and after each act. */
const LOAD_MS = 3_000;

/** @returns the broken promises. */
export async function rehearse(options: RehearsalOptions): Promise<readonly string[]> {
  const { folder, from, to, rate, products, onStep } = options;
  const problems: string[] = [];
  const sandbox = await startSandbox({ products });
  const current = join(folder, 'current');
  const install = (version: string): void => {
    symlinkSync(version, `${current}.new`);
    renameSync(`${current}.new`, current);
  };
  install(from);
  const host = await startHost(sandbox, current, join(folder, 'host-1'));
  sandbox.webhookUrl = host.webhookUrl;
  try {
    const { receiver, mirror } = host;
    // Ends `unproven`.
    sandbox.traffic.start(rate);
    await sleep(LOAD_MS);
    await untilEqual(sandbox, host.databasePath);
    const steps: readonly (readonly [name: string, act: () => Promise<void>])[] = [
      ['the mirror upgraded', () => (install(to), mirror.restart())],
      ['the receiver upgraded', () => receiver.restart()],
      ['back to the version before', () => (install(from), both(mirror, receiver))],
      ['both upgraded', () => (install(to), both(mirror, receiver))],
    ];
    for (const [name, act] of steps) {
      const before = sandbox.deliveries.records.length;
      const sampler = new Sampler(host.databasePath);
      sandbox.traffic.start(rate);
      await sleep(LOAD_MS);
      await act();
      await sleep(LOAD_MS);
      problems.push(...(await untilEqual(sandbox, host.databasePath)));
      const sent = sandbox.deliveries.records.slice(before);
      onStep({ name, ...sampler.end(), ...countsOf(sent, host.databasePath, problems) });
    }
    sandbox.traffic.start(rate);
    await sleep(LOAD_MS);
    problems.push(...(await restoreElsewhere({ sandbox, current, folder, first: host, onStep })));
    return problems;
  } finally {
    sandbox.traffic.stop();
    await host.end();
    await sandbox.stop();
  }
}

async function both(mirror: Half, receiver: Half): Promise<void> {
  await mirror.restart();
  await receiver.restart();
}

interface Host {
  readonly databasePath: string;
  readonly webhookUrl: string;
  readonly receiver: Half;
  readonly mirror: Half;
  command(...args: readonly string[]): string;
  end(): Promise<void>;
}

async function startHost(
  sandbox: Sandbox,
  current: string,
  folder: string,
  prepare: (command: Host['command']) => void = () => undefined,
): Promise<Host> {
  mkdirSync(folder, { recursive: true });
  const databasePath = join(folder, 'stock-mirror.db');
  const program = join(current, 'dist/bin.js');
  const [port, opsPort] = [await freePort(), await freePort()];
  const env = {
    SERVICE_BASE_URL: sandbox.baseUrl,
    SERVICE_CLIENT_ID: sandbox.clientId,
    SERVICE_CLIENT_SECRET: sandbox.clientSecret,
    SERVICE_WEBHOOK_SECRET: sandbox.webhookSecret,
    DATABASE_PATH: databasePath,
    PORT: String(port),
    RESYNC_CRON: 'off',
    SERVICE_MAX_RPS: '300',
  };
  const command = (...args: readonly string[]): string =>
    execFileSync(process.execPath, [program, ...args], {
      cwd: folder,
      env: { ...env, ROLE: 'mirror', OPS_PORT: String(opsPort) },
      encoding: 'utf8',
    });
  prepare(command);
  const receiver = new Half({
    role: 'receiver',
    program,
    port,
    env: { ...env, OPS_PORT: '0' },
    logPath: join(folder, 'receiver.log'),
  });
  await receiver.untilStarted();
  const mirror = new Half({
    role: 'mirror',
    program,
    port,
    env: { ...env, OPS_PORT: String(opsPort) },
    logPath: join(folder, 'mirror.log'),
  });
  await mirror.untilStarted();
  return {
    databasePath,
    webhookUrl: `http://127.0.0.1:${port}/webhooks`,
    receiver,
    mirror,
    command,
    async end() {
      await mirror.end();
      await receiver.end();
    },
  };
}

/** A backup of the running mirror, on a host that has neither its inbox nor its other files. */
async function restoreElsewhere({
  sandbox,
  current,
  folder,
  first,
  onStep,
}: {
  readonly sandbox: Sandbox;
  readonly current: string;
  readonly folder: string;
  readonly first: Host;
  readonly onStep: (step: Step) => void;
}): Promise<string[]> {
  const copy = join(folder, 'backup.db');
  first.command('backup', copy);
  const lastSeq = statusOf(copy).last_seq;
  await first.end();
  const before = sandbox.deliveries.records.length;
  const second = await startHost(sandbox, current, join(folder, 'host-2'), (command) =>
    command('backup', '--restore', copy),
  );
  const sampler = new Sampler(second.databasePath);
  const problems: string[] = [];
  try {
    sandbox.webhookUrl = second.webhookUrl;
    await sleep(LOAD_MS);
    problems.push(...(await untilEqual(sandbox, second.databasePath)));
    const sent = sandbox.deliveries.records.slice(before);
    const counts = countsOf(sent, second.databasePath, problems);
    onStep({ name: 'a backup restored on another host', ...sampler.end(), ...counts });
    if (statusOf(second.databasePath).last_seq <= lastSeq) problems.push('change numbers went back');
    return problems;
  } finally {
    await second.end();
  }
}

/** @param problems takes what was answered and is not on disk. */
function countsOf(
  sent: readonly DeliveryRecord[],
  databasePath: string,
  problems: string[],
): Pick<Step, 'sent' | 'late' | 'lost'> {
  const inbox = new Database(join(dirname(databasePath), INBOX_FILE), { readonly: true });
  let stored: Set<string>;
  try {
    const bodies = inbox.prepare<[], { body: Buffer }>('SELECT body FROM inbox').all();
    stored = new Set(bodies.map(({ body }) => body.toString()));
  } finally {
    inbox.close();
  }
  let [late, lost] = [0, 0];
  for (const { status, delivery } of sent) {
    const isStored = stored.has(delivery.body.toString());
    if (status === 204 && !isStored) problems.push(`${delivery.requestId} was answered 204 and is gone`);
    if (status !== 204 && isStored) late += 1;
    if (status !== 204 && !isStored) lost += 1;
  }
  return { sent: sent.length, late, lost };
}

interface StatusRow {
  readonly state: string;
  readonly suspect_count: number;
  readonly pending_reads: number;
  readonly last_seq: number;
}

function statusOf(path: string): StatusRow {
  const db = new Database(path, { readonly: true, timeout: 2_000 });
  try {
    const row = db.prepare<[], StatusRow>('SELECT * FROM mirror_status').get();
    if (row === undefined) throw new Error(`${path} has no status`);
    return row;
  } finally {
    db.close();
  }
}

/** What a reader of the file sees, while a step runs. */
class Sampler {
  readonly #timer: NodeJS.Timeout;
  #lastMs = performance.now();
  #notLiveMs = 0;
  #suspectMs = 0;
  #mostSuspect = 0;

  constructor(path: string) {
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      const { state, suspect_count: suspect } = statusOf(path);
      if (state !== 'live') this.#notLiveMs += nowMs - this.#lastMs;
      if (suspect > 0) this.#suspectMs += nowMs - this.#lastMs;
      this.#mostSuspect = Math.max(this.#mostSuspect, suspect);
      this.#lastMs = nowMs;
    }, SAMPLE_EVERY_MS);
  }

  end(): Pick<Step, 'notLiveMs' | 'suspectMs' | 'mostSuspect'> {
    clearInterval(this.#timer);
    return {
      notLiveMs: Math.round(this.#notLiveMs),
      suspectMs: Math.round(this.#suspectMs),
      mostSuspect: this.#mostSuspect,
    };
  }
}

/** Ends the traffic. @returns differences from the store, once the mirror claims that there are none. */
async function untilEqual(sandbox: Sandbox, path: string): Promise<readonly string[]> {
  sandbox.traffic.stop();
  await sandbox.network.idle();
  const deadlineMs = performance.now() + WITHIN_MS;
  for (;;) {
    const { state, suspect_count: suspect, pending_reads: pending } = statusOf(path);
    if (state === 'live' && suspect === 0 && pending === 0) break;
    if (performance.now() > deadlineMs) {
      return [
        `${path} is ${state} with ${suspect} suspect rows and ${pending} pending reads after ${WITHIN_MS} ms`,
      ];
    }
    await sleep(SAMPLE_EVERY_MS);
  }
  // Levels of pulled products that only webhooks report, where one was not answered.
  return compareWithTruth(path, sandbox.truth, missedVariants(sandbox.deliveries)).differences;
}
