/**
 * The mirror's file is deleted, replaced or damaged under a process that takes fifty deliveries a second
 * (docs/architecture.md#a-mirror-that-fails).
 */
import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  eventually,
  logRows,
  rows,
  startBoth,
  startMirror,
  untilEqual,
  untilLive,
  untilQuiet,
} from '../harness.ts';
import { startLoad, withStatus } from '../load.ts';

const PAGE_BYTES = 4_096;
const PER_SECOND = 50;

/** Another program overwrites the middle of it, and leaves the header. */
function overwriteMiddle(path: string): void {
  const pages = statSync(path).size / PAGE_BYTES;
  const file = openSync(path, 'r+');
  for (let page = 4; page <= pages; page += 1) {
    writeSync(file, Buffer.alloc(PAGE_BYTES, 0x5a), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  }
  closeSync(file);
}

interface Epoch {
  readonly epoch: string;
  readonly last_seq: number;
}

interface Case {
  readonly name: string;
  readonly happen: (path: string) => void;
}

test.concurrent.for<Case>([
  { name: 'deleted', happen: (path) => rmSync(path) },
  { name: 'overwritten in the middle', happen: overwriteMiddle },
])('a mirror that is $name: 204 throughout, and equal afterwards', async ({ happen }, t) => {
  const { sandbox, mirror: first } = await startBoth(t, { products: 30 });
  const path = first.databasePath;
  const folder = dirname(path);
  // Of a mirror that has just started, little is in the write-ahead log and in memory.
  await first.stop();
  const mirror = await startMirror(t, sandbox, { folder });
  await untilLive(mirror);
  await untilQuiet(mirror, sandbox);

  const load = startLoad(t, sandbox, PER_SECOND);
  await eventually(() => withStatus(load, 204).length > 2 * PER_SECOND, { what: 'traffic' });
  const [before] = rows<Epoch>(path, 'SELECT epoch, last_seq FROM mirror_status');
  const answers = new Set<number>();
  const asking = setInterval(() => {
    mirror.get('/api/stock').then(
      ({ status }) => answers.add(status),
      () => answers.add(0),
    );
  });
  t.onTestFinished(() => clearInterval(asking));

  happen(path);
  const isHealed = (): boolean =>
    mirror.log.some(({ msg }) => String(msg).startsWith('the mirror’s tables are written again'));
  await eventually(isHealed, { what: 'it is healed' });
  // It goes on as before.
  await sleep(1_000);
  load.stop();
  await sandbox.network.idle();
  clearInterval(asking);

  await untilLive(mirror);
  await untilQuiet(mirror, sandbox);
  await untilEqual(mirror, sandbox);
  expect(load.settled.map(({ status }) => status).filter((status) => status !== 204)).toEqual([]);
  const [after] = rows<Epoch>(path, 'SELECT epoch, last_seq FROM mirror_status');
  expect(after?.epoch).not.toBe(before?.epoch);
  expect(after?.last_seq).toBeGreaterThan(before?.last_seq ?? 0);
  // Each delivery that was answered is one entry, before and after.
  const kept = new Set(
    logRows<{ payload: Buffer }>(path, `SELECT payload FROM log WHERE kind = 'delivery'`).map(({ payload }) =>
      payload.toString(),
    ),
  );
  expect(withStatus(load, 204).filter(({ delivery }) => !kept.has(delivery.body.toString()))).toEqual([]);
  expect([...answers].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(await mirror.stop()).toEqual({ code: 0, signal: null });
});
