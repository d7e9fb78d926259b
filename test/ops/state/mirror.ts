/** A mirror on this thread, with every face that shows its state. */
import { pino } from 'pino';
import { onTestFinished, vi } from 'vitest';
import { createCommand } from '../../../src/cli/status.ts';
import type { MirrorReader } from '../../../src/mirror/mirror.ts';
import { Monitor } from '../../../src/ops/monitor.ts';
import { StateSampler } from '../../../src/ops/state/state-sampler.ts';
import type { StateWatch } from '../../../src/ops/state/state-watch.ts';
import type { Blocked } from '../../../src/store-api/blocked.ts';
import type { SqliteFault } from '../../../src/sqlite/errors.ts';
import { lockDatabase, lockIdOf } from '../../../src/sqlite/lock.ts';
import { newDatabases, type DirectDatabases } from '../../reconcile/mirror.ts';
import { startOps, type Ops } from '../harness.ts';

interface Facts {
  nowMs: number;
  blocked: Blocked | null;
  fault: SqliteFault | null;
}

export interface Mirror {
  readonly facts: Facts;
  readonly databases: DirectDatabases;
  readonly monitor: Monitor;
  readonly sampler: StateSampler;
  readonly ops: Ops;
  readonly logged: string[];
  readonly watch: StateWatch;
  /** A heartbeat now, which a fault may prevent. */
  readonly beat: () => Promise<void>;
  readonly path: string;
  /** A mirror whose thread has ended holds its file no longer. */
  readonly unlock: () => void;
}

/** @param sampled the reader of the samples. */
export async function startMirror(
  sampled: (reader: MirrorReader) => MirrorReader = (reader) => reader,
): Promise<Mirror> {
  const facts: Facts = { nowMs: Date.now(), blocked: null, fault: null };
  const databases = newDatabases();
  const { mirror } = databases;
  const ask: MirrorReader['ask'] = mirror.ask.bind(mirror);
  vi.spyOn(mirror, 'ask').mockImplementation((...asked) =>
    facts.fault === null ? ask(...asked) : Promise.reject(facts.fault),
  );
  Object.defineProperty(mirror, 'fault', { get: () => facts.fault });
  const logged: string[] = [];
  const log = pino({ base: null }, { write: (line) => void logged.push(line) });
  const now = () => facts.nowMs;
  const operator = {
    resync: () => Promise.reject(new Error('not here')),
    get blocked() {
      return facts.blocked;
    },
    verificationBound: null,
    readsUnderWay: 0,
  };
  const monitor = new Monitor();
  const sampler = new StateSampler({ reader: sampled(mirror), now, log });
  const watch = monitor.watch({ mirror, sampler, operator, hasStream: false, now, log });
  const [path = ''] = databases
    .rows<{ file: string }>('SELECT file FROM pragma_database_list')
    .map(({ file }) => file);
  const lock = lockDatabase(path);
  onTestFinished(() => lock.release());
  const database = { path, lockId: lockIdOf(path) };
  const ops = await startOps(databases, { operator, now, state: sampler, watch, database });
  const beat = () => watch.beat(Date.now()).catch(() => undefined);
  onTestFinished(() => watch.stop());
  return { facts, databases, monitor, sampler, ops, logged, watch, beat, path, unlock: () => lock.release() };
}

/** What `status` prints. Tests that ask for it unstub the environment at their end. */
export async function printed({ ops: { port }, path }: Mirror, ...args: string[]): Promise<string> {
  vi.stubEnv('DATABASE_PATH', path);
  vi.stubEnv('OPS_PORT', String(port));
  let text = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((part) => {
    text += String(part);
    return true;
  });
  await createCommand()
    .parseAsync(args, { from: 'user' })
    .finally(() => write.mockRestore());
  process.exitCode = undefined;
  return text;
}
