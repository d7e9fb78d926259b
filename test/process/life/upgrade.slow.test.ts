/**
 * Upgrades of a receiver and a mirror that run as two processes (docs/production.md#upgrade), and a restore on
 * another host, while webhooks arrive.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test, type TestContext } from 'vitest';
import { readMissed } from '../../../src/inbox/missed.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import {
  environmentFor,
  eventually,
  inboxRows,
  notKept,
  proveWayIn,
  startMirror,
  startService,
  statusOf,
  temporaryFolder,
  untilAtRest,
  type RunningMirror,
} from '../harness.ts';
import { startLoad } from '../load.ts';
import { holdSocket, type SocketUnit } from './socket-unit.ts';

const CLI = join(import.meta.dirname, '../../../src/cli.ts');

/** Threads begin late, as on a busy machine. */
const LATE_THREADS = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`
    import { isMainThread } from 'node:worker_threads';
    if (!isMainThread) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);`)}`,
};

interface Host {
  readonly receiver: SocketUnit;
  readonly databasePath: string;
  mirror: RunningMirror;
}

async function startHost(t: TestContext, sandbox: Sandbox, folder: string): Promise<Host> {
  const receiver = await holdSocket(t, sandbox, folder, { ROLE: 'receiver' });
  await receiver.start();
  await proveWayIn(`http://127.0.0.1:${receiver.port}/webhooks`, sandbox.webhookSecret);
  const mirror = await startMirror(t, sandbox, { folder, env: { ROLE: 'mirror' } });
  return { receiver, mirror, databasePath: receiver.databasePath };
}

/** Without `stood_still`, which a busy machine may cause. */
const missedBy = ({ databasePath }: Host): readonly string[] =>
  inboxRows<{ body: Buffer }>(databasePath, "SELECT body FROM inbox WHERE kind = 'missed' ORDER BY seq")
    .map(({ body }) => readMissed(body, 0).why)
    .filter((why) => why !== 'stood_still');

async function untilMore({ settled }: Pick<ReturnType<typeof startLoad>, 'settled'>): Promise<void> {
  const before = settled.length;
  await eventually(() => settled.length > before + 40, { what: 'load' });
}

test('misses no webhook while receiver and mirror are upgraded and rolled back, and repairs what a restore misses', async (t) => {
  const sandbox = await startService(t, { products: 20, ackTimeoutMs: 60_000 });
  const host = await startHost(t, sandbox, temporaryFolder(t));
  await untilAtRest(host, sandbox);
  const missedAtFirst = missedBy(host);
  const { epoch } = statusOf(host.databasePath);
  const load = startLoad(t, sandbox, 40);
  const more = () => untilMore(load);
  const restartMirror = async (whileStopped: () => Promise<void>): Promise<void> => {
    await host.mirror.stop();
    await whileStopped();
    const env = { ROLE: 'mirror', ...LATE_THREADS };
    host.mirror = await startMirror(t, sandbox, { folder: host.mirror.folder, env });
  };
  const restartReceiver = async (): Promise<void> => {
    await host.receiver.stop();
    await host.receiver.start();
  };

  await more();
  await restartMirror(more);
  await more();
  await restartReceiver();
  await more();
  // Back to the version before: both at once.
  await restartMirror(restartReceiver);
  await more();

  const copy = join(temporaryFolder(t), 'copy.db');
  const command = (databasePath: string, ...args: string[]) =>
    execFileSync(process.execPath, [CLI, 'backup', ...args], { env: environmentFor(sandbox, databasePath) });
  command(host.databasePath, copy);
  const lastSeq = statusOf(copy).last_seq;
  load.stop();
  await sandbox.network.idle();
  // A busy machine may store one too late for its answer.
  expect(notKept(host.databasePath, load.settled)).toEqual([]);
  expect(missedBy(host)).toEqual(missedAtFirst);
  expect(statusOf(host.databasePath).epoch).toBe(epoch);
  await untilAtRest(host, sandbox);

  await host.mirror.stop();
  await host.receiver.stop();
  const folder = temporaryFolder(t);
  command(join(folder, 'mirror.db'), '--restore', copy);
  sandbox.webhookUrl = null;
  const afterwards = startLoad(t, sandbox, 40);
  const other = await startHost(t, sandbox, folder);
  await untilMore(afterwards);
  afterwards.stop();
  await untilAtRest(other, sandbox);
  expect(statusOf(other.databasePath).last_seq).toBeGreaterThan(lastSeq);
});
