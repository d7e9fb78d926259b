/**
 * Another program holds the database's lock for seconds (docs/architecture.md#when-nothing-can-be-committed).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eventually, rows, startBoth, untilEqual, untilQuiet, type Owner } from './harness.ts';
import { startLoad, unanswered, withStatus } from './load.ts';

const HOLD_LOCK = fileURLToPath(new URL('fixtures/hold-lock.ts', import.meta.url));
const LOCKED_MS = 5_000;

/** Resolves when the database is locked. @returns the way to let go of it. */
async function lock(test: Owner, databasePath: string): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, [HOLD_LOCK, databasePath], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  test.onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.end();
    await ended;
  };
}

test('a database locked for 5 s under load: 503 within the second, then 204, and repaired without anyone’s help', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 20 });
  const healthUrl = mirror.webhookUrl.replace('/webhooks', '/healthz');
  const load = startLoad(t, sandbox, 100);
  await eventually(() => withStatus(load, 204).length > 50, { what: 'traffic' });

  const release = await lock(t, mirror.databasePath);
  const lockedUntilMs = performance.now() + LOCKED_MS;
  await eventually(async () => (await fetch(healthUrl)).status === 503, { what: 'healthz 503' });
  await eventually(() => withStatus(load, 503).length > 100, { what: 'deliveries are refused' });
  await sleep(Math.max(0, lockedUntilMs - performance.now()));
  await release();

  const releasedAt = load.settled.length;
  await eventually(() => withStatus(load, 204, releasedAt).length > 50, { what: 'deliveries are accepted' });
  await eventually(async () => (await fetch(healthUrl)).status === 200, { what: 'healthz 200' });
  load.stop();
  await untilQuiet(mirror, sandbox);
  await untilEqual(mirror, sandbox);

  expect(unanswered(load)).toEqual([]);
  const said = mirror.log.filter((line) => JSON.stringify(line).includes('another program holds'));
  expect(said.length).toBeGreaterThan(0);
  const obliged = `SELECT 1 FROM log WHERE kind = 'oblige' AND CAST(payload AS TEXT) LIKE '%not_stored%'`;
  expect(rows(mirror.databasePath, obliged).length).toBeGreaterThan(0);
  // Nobody asked for a resync: the first one of the start is all there was.
  expect(rows(mirror.databasePath, 'SELECT kind FROM runs')).toEqual([{ kind: 'initial' }]);
});
