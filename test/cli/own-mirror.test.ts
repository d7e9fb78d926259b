/** Commands act only on the mirror of their DATABASE_PATH (docs/operating.md#run). */
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createCommand as createResync } from '../../src/cli/resync.ts';
import { createCommand as createStatus } from '../../src/cli/status.ts';
import { lockDatabase, lockIdOf } from '../../src/sqlite/lock.ts';
import { newPath } from '../mirror/mirror-file.ts';
import { startOps, type Ops } from '../ops/harness.ts';
import { newDatabases } from '../reconcile/mirror.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  process.exitCode = undefined;
});

function lockedPath(): string {
  const path = newPath();
  const lock = lockDatabase(path);
  onTestFinished(() => lock.release());
  return path;
}

/** A mirror that serves the file at `path`; `asked` are its calls for a resync. */
async function mirrorOf(path: string): Promise<Ops & { readonly asked: unknown[] }> {
  const asked: unknown[] = [];
  const operator = {
    resync: (...args: unknown[]) => {
      asked.push(args);
      return Promise.resolve({ id: 7, joined: false } as never);
    },
    blocked: null,
    verificationBound: null,
    readsUnderWay: 0,
  };
  const database = { path, lockId: lockIdOf(path) };
  return Object.assign(await startOps(newDatabases(), { operator, database }), { asked });
}

function useFile(path: string, { port }: Ops): void {
  vi.stubEnv('DATABASE_PATH', path);
  vi.stubEnv('OPS_PORT', String(port));
}

const silently = async (work: () => Promise<unknown>): Promise<string> => {
  let printed = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((part) => {
    printed += String(part);
    return true;
  });
  await work().finally(() => write.mockRestore());
  return printed;
};

const resync = (): Promise<unknown> => createResync().parseAsync(['--detach'], { from: 'user' });

test('resync asks the mirror of its file', async () => {
  const path = lockedPath();
  const mirror = await mirrorOf(path);
  useFile(path, mirror);
  expect(await silently(resync)).toBe('run 7 has begun in the mirror\n');
  expect(mirror.asked).toHaveLength(1);
});

test.each([
  ['a file that is not there', newPath],
  ['the file of another mirror', lockedPath],
])('resync refuses the mirror at OPS_PORT for %s', async (_, own) => {
  const path = lockedPath();
  const mirror = await mirrorOf(path);
  const mine = own();
  useFile(mine, mirror);
  await expect(silently(resync)).rejects.toThrow(
    `the mirror at http://127.0.0.1:${mirror.port} has the file ${path}, not ${mine}: correct DATABASE_PATH`,
  );
  expect(mirror.asked).toEqual([]);
});

test('resync without a mirror fails, and says how to start one', async () => {
  vi.stubEnv('DATABASE_PATH', newPath());
  // Nothing listens on this port, whatever else runs on the machine.
  vi.stubEnv('OPS_PORT', '2');
  await expect(silently(resync)).rejects.toThrow(
    'no mirror listens at 127.0.0.1:2: start it with `stock-mirror serve`, or set OPS_HOST and OPS_PORT to its values',
  );
});

test('status names the file of another mirror at OPS_PORT', async () => {
  const path = lockedPath();
  useFile(lockedPath(), await mirrorOf(path));
  await expect(silently(() => createStatus().parseAsync([], { from: 'user' }))).rejects.toThrow(
    `has the file ${path}, not `,
  );
});

test('status --wait ends when the mirror is live, also with a pending read, or after its time', async () => {
  const path = lockedPath();
  const database = { path, lockId: lockIdOf(path) };
  const databases = newDatabases();
  const ops = await startOps(databases, { database });
  useFile(path, ops);
  await ops.ask('/readyz');
  const wait = async (...args: string[]): Promise<{ exitCode: unknown; state: unknown }> => {
    const text = await silently(() =>
      createStatus().parseAsync(['--wait', '--json', ...args], { from: 'user' }),
    );
    return { exitCode: process.exitCode, state: (JSON.parse(text) as { state: unknown }).state };
  };
  expect(await wait('--timeout', '0')).toEqual({ exitCode: 1, state: 'catching_up' });
  const waiting = wait();
  databases.change(`INSERT INTO due_reads (product_id, reason, priority, is_suspect, made_at_ms, first_made_at_ms, not_before_ms)
    VALUES ('2', 'derived', 3, 0, 0, 0, 0)`);
  databases.change('UPDATE service_state SET last_full_sync_at_ms = 1');
  // Only the heartbeat shows it.
  await ops.ask('/readyz');
  expect(await waiting).toEqual({ exitCode: 0, state: 'live' });
});
