/**
 * The mirror's file is deleted, replaced or damaged under a process that takes fifty deliveries a second
 * (docs/architecture.md#the-event-log).
 */
import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
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

function deleteAll(path: string): void {
  for (const name of readdirSync(dirname(path))) {
    if (name.startsWith('mirror.db')) rmSync(join(dirname(path), name));
  }
}

function putBack(path: string, backup: string): void {
  copyFileSync(backup, `${path}.copy`);
  renameSync(`${path}.copy`, path);
}

interface Case {
  readonly name: string;
  readonly happen: (path: string, backup: string) => void;
  /** How many files are moved aside. */
  readonly aside: number;
}

test.concurrent.for<Case>([
  { name: 'deleted with all that begins with its name', happen: deleteAll, aside: 0 },
  { name: 'overwritten in the middle', happen: overwriteMiddle, aside: 1 },
  { name: 'replaced by an older backup', happen: putBack, aside: 0 },
])('a mirror that is $name: 204 throughout, and equal afterwards', async ({ happen, aside }, t) => {
  const { sandbox, mirror: first } = await startBoth(t, { products: 30 });
  const path = first.databasePath;
  const folder = dirname(path);
  const backup = join(folder, 'backup.db');
  const db = new Database(path, { readonly: true });
  await db.backup(backup);
  db.close();
  // Of a mirror that has just started, little is in the write-ahead log and in memory.
  await first.stop();
  const mirror = await startMirror(t, sandbox, { folder });
  await untilLive(mirror);
  await untilQuiet(mirror, sandbox);

  const load = startLoad(t, sandbox, PER_SECOND);
  await eventually(() => withStatus(load, 204).length > 2 * PER_SECOND, { what: 'traffic' });
  const told = rows<{ seq: number }>(path, 'SELECT * FROM mirror_changes ORDER BY seq');
  const [before] = rows<{ epoch: string }>(path, 'SELECT epoch FROM mirror_status');
  const answers = new Set<number>();
  const asking = setInterval(() => {
    mirror.get('/api/stock').then(
      ({ status }) => answers.add(status),
      () => answers.add(0),
    );
  });
  t.onTestFinished(() => clearInterval(asking));

  happen(path, backup);
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
  expect(load.settled.filter(({ status }) => status !== 204)).toEqual([]);
  const [after] = rows<{ epoch: string }>(path, 'SELECT epoch FROM mirror_status');
  expect(after).toEqual(before);
  const last = present(told.at(-1)).seq;
  expect(rows(path, 'SELECT * FROM mirror_changes WHERE seq <= ? ORDER BY seq', last)).toEqual(told);
  // Each delivery that was answered is one entry, before and after.
  const kept = new Set(
    logRows<{ payload: Buffer }>(path, `SELECT payload FROM log WHERE kind = 'delivery'`).map(({ payload }) =>
      payload.toString(),
    ),
  );
  expect(withStatus(load, 204).filter(({ delivery }) => !kept.has(delivery.body.toString()))).toEqual([]);
  expect([...answers].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(readdirSync(folder).filter((name) => /\.damaged-[^-]+Z$/.test(name))).toHaveLength(aside);
  expect(await mirror.stop()).toEqual({ code: 0, signal: null });
});
