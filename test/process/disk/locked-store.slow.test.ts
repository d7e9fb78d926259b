/**
 * Another program holds the mirror's lock for half a minute: the event log does not need it
 * (docs/architecture.md#when-nothing-can-be-committed).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  eventually,
  logRows,
  rows,
  startBoth,
  startMirror,
  statusOf,
  untilEqual,
  untilLive,
  untilLogged,
  untilQuiet,
  type Owner,
} from '../harness.ts';
import { startLoad, withStatus } from '../load.ts';

const HOLD_LOCK = fileURLToPath(new URL('fixtures/hold-lock.ts', import.meta.url));
const LOCKED_MS = 30_000;
const STUCK = 'the mirror’s tables cannot be written';

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

test('a mirror locked for 30 s under load: 204 throughout, and equal within 10 s after', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 20 });
  const healthUrl = mirror.webhookUrl.replace('/webhooks', '/healthz');
  const load = startLoad(t, sandbox, 500);
  await eventually(() => withStatus(load, 204).length > 50, { what: 'traffic' });

  const release = await lock(t, mirror.databasePath);
  const lockedUntilMs = performance.now() + LOCKED_MS;
  await untilLogged(mirror, ({ msg }) => String(msg).startsWith(STUCK), 'that the tables cannot be written');
  const lockedFrom = load.settled.length;
  await eventually(() => statusOf(mirror.databasePath).state === 'stale', { what: 'its state says so' });
  expect((await fetch(healthUrl)).status).toBe(200);
  await sleep(Math.max(0, lockedUntilMs - performance.now()));
  await untilLogged(mirror, ({ alarm }) => alarm === 'tables_behind', 'the alarm');
  expect(withStatus(load, 204, lockedFrom).length).toBeGreaterThan(500);
  load.stop();
  await sandbox.network.idle();
  await release();

  await untilEqual(mirror, sandbox);
  await untilLive(mirror);
  await untilQuiet(mirror, sandbox);
  expect(load.settled.filter(({ status }) => status !== 204)).toEqual([]);
  expect(statusOf(mirror.databasePath)).toMatchObject({ state: 'live', suspect_count: 0, open_gaps: 0 });
  // Told once, with what is in the way.
  const said = mirror.log.filter(({ msg }) => String(msg).startsWith(STUCK));
  expect(said).toHaveLength(1);
  expect(JSON.stringify(said)).toContain('another program holds');
  // Nothing was read for it, and nobody asked for a resync: the first one of the start is all there was.
  const isAnyRefused = load.settled.some(({ status }) => status !== 204);
  if (!isAnyRefused)
    expect(logRows(mirror.databasePath, `SELECT 1 FROM log WHERE kind IN ('oblige', 'downtime')`)).toEqual(
      [],
    );
  expect(rows(mirror.databasePath, 'SELECT kind FROM runs')).toEqual([{ kind: 'initial' }]);
});

test('a mirror that stays locked does not keep the process from ending in time, and nothing is lost', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 20 });
  const load = startLoad(t, sandbox, 100);
  const release = await lock(t, mirror.databasePath);
  await untilLogged(mirror, ({ msg }) => String(msg).startsWith(STUCK), 'that the tables cannot be written');
  load.stop();
  await sandbox.network.idle();
  // An operator is told what is in the way, instead of waiting for it.
  const resync = await mirror.post('/api/resync', {});
  expect(resync).toMatchObject({ status: 503, body: { error: 'unavailable' } });
  expect(resync.body['error_description']).toContain('another program holds');
  expect(await mirror.stop()).toEqual({ code: 0, signal: null });
  await release();

  const again = await startMirror(t, sandbox, { folder: dirname(mirror.databasePath) });
  await untilLive(again);
  await untilEqual(again, sandbox);
  expect(again.log.some((line) => line['type'] === 'new_epoch')).toBe(false);
});
