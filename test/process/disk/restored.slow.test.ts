/**
 * Older copies of the mirror, of its event log, or of both come back under a consumer that reads the views
 * (docs/reading-the-mirror.md#following-changes).
 */
import { copyFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import { readHighWaterMark } from '../../../src/event-log/high-water-mark.ts';
import { present } from '../../shared/present.ts';
import {
  eventually,
  logRows,
  plainVariants,
  rows,
  startBoth,
  startMirror,
  statusOf,
  temporaryFolder,
  untilEqual,
  untilLive,
  untilQuiet,
} from '../harness.ts';

interface ChangeRow {
  readonly seq: number;
  readonly variant_id: string;
  readonly warehouse_id: string | null;
  readonly new_qty: number | null;
}

/** Keeps a copy of the stock as the README tells an ERP to. */
class Consumer {
  readonly #path: string;
  epoch: string | null = null;
  starts = 0;
  last = 0;
  /** The number of each change it was ever told. */
  readonly told: number[] = [];
  readonly stock = new Map<string, number>();

  constructor(path: string) {
    this.#path = path;
  }

  poll(): void {
    const db = new Database(this.#path, { readonly: true, fileMustExist: true });
    try {
      db.transaction(() => this.#read(db))();
    } finally {
      db.close();
    }
  }

  #read(db: Database.Database): void {
    const status = present(
      db.prepare<[], { epoch: string; last_seq: number }>('SELECT epoch, last_seq FROM mirror_status').get(),
    );
    if (status.epoch !== this.epoch) {
      this.epoch = status.epoch;
      this.starts += 1;
      this.stock.clear();
      this.last = status.last_seq;
      for (const row of db
        .prepare<[], { variant_id: string; warehouse_id: string; qty: number }>(
          'SELECT variant_id, warehouse_id, available_qty AS qty FROM mirror_stock',
        )
        .all()) {
        this.stock.set(`${row.variant_id}/${row.warehouse_id}`, row.qty);
      }
      return;
    }
    for (const change of db
      .prepare<[number], ChangeRow>('SELECT * FROM mirror_changes WHERE seq > ? ORDER BY seq')
      .all(this.last)) {
      this.last = change.seq;
      this.told.push(change.seq);
      if (change.warehouse_id === null) continue;
      const key = `${change.variant_id}/${change.warehouse_id}`;
      if (change.new_qty === null) this.stock.delete(key);
      else this.stock.set(key, change.new_qty);
    }
  }
}

function stockOf(path: string): Map<string, number> {
  return new Map(
    rows<{ variant_id: string; warehouse_id: string; qty: number }>(
      path,
      'SELECT variant_id, warehouse_id, available_qty AS qty FROM mirror_stock',
    ).map((row) => [`${row.variant_id}/${row.warehouse_id}`, row.qty]),
  );
}

const sorted = (stock: Map<string, number>): [string, number][] =>
  [...stock].sort(([a], [b]) => (a < b ? -1 : 1));

type Restore = (path: string, backup: string) => void;

const overwritten: Restore = (path, backup) => copyFileSync(backup, path);
const replaced: Restore = (path, backup) => {
  copyFileSync(backup, `${path}.copy`);
  renameSync(`${path}.copy`, path);
};

const ALIKE = (path: string): string => path;

interface Case {
  readonly name: string;
  readonly restore: Restore;
  /** Which files of a mirror come back. */
  readonly files: readonly ((databasePath: string) => string)[];
  /** Whether the history goes on: the event log knows all that the consumer was told. */
  readonly continues: boolean;
}

test.concurrent.for<Case>([
  { name: 'the mirror, written over it', restore: overwritten, files: [ALIKE], continues: true },
  { name: 'the mirror, put in its place', restore: replaced, files: [ALIKE], continues: true },
  { name: 'both, written over them', restore: overwritten, files: [ALIKE, eventLogPath], continues: false },
  { name: 'both, put in their places', restore: replaced, files: [ALIKE, eventLogPath], continues: false },
  { name: 'the event log, written over it', restore: overwritten, files: [eventLogPath], continues: false },
])('an older copy of $name: a consumer ends equal', async ({ restore, files, continues }, t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 30 });
  const path = mirror.databasePath;
  const [undone, kept, missed] = plainVariants(sandbox, 3);
  const consumer = new Consumer(path);
  consumer.poll();

  const backups = join(temporaryFolder(t), 'backup.db');
  for (const fileOf of files) {
    const db = new Database(fileOf(path), { readonly: true });
    await db.backup(fileOf(backups));
    db.close();
  }

  // Told to the consumer, unknown to the copy; one of them is undone again before the store goes on.
  for (const level of [undone, kept]) sandbox.operations.add({ ...level, by: 11 });
  await untilQuiet(mirror, sandbox);
  await untilEqual(mirror, sandbox);
  consumer.poll();
  expect(consumer.told.length).toBeGreaterThanOrEqual(2);
  const { epoch, last } = consumer;
  // The mark is behind by a second at most; a clean stop writes it, unless the disk takes longer than a stop may.
  const [log] = logRows<{ seq: number }>(path, 'SELECT max(seq) AS seq FROM log');
  await eventually(() => (readHighWaterMark(path)?.logSeq ?? 0) >= (log?.seq ?? 0), {
    what: 'the mark is written',
  });
  await mirror.stop();
  sandbox.webhookUrl = null;
  sandbox.operations.add({ ...undone, by: -11 });
  sandbox.operations.add({ ...missed, by: 5 });
  for (const fileOf of files) restore(fileOf(path), fileOf(backups));

  const starts = continues ? 1 : 2;
  const again = await startMirror(t, sandbox, { folder: dirname(path) });
  const news = again.log.find((line) => line['type'] === 'new_epoch');
  if (continues) expect(news).toBeUndefined();
  else {
    expect(news).toMatchObject({ epochBefore: epoch });
    expect(statusOf(path).state).not.toBe('live');
  }
  consumer.poll();
  expect(consumer.starts).toBe(starts);
  expect(consumer.epoch === epoch).toBe(continues);

  await untilLive(again);
  await untilQuiet(again, sandbox);
  await untilEqual(again, sandbox);
  await eventually(() => statusOf(path).suspect_count === 0, { what: 'nothing is suspect' });
  consumer.poll();
  expect(consumer.starts).toBe(starts);
  expect(sorted(consumer.stock)).toEqual(sorted(stockOf(path)));
  // No number was given out twice: what the copy had to catch up with is above all that was told before.
  const after = consumer.told.filter((seq) => seq > last);
  expect(after.length).toBeGreaterThanOrEqual(2);
  expect(consumer.told).toEqual([...new Set(consumer.told)].sort((a, b) => a - b));

  // The next start continues it.
  await again.stop();
  const third = await startMirror(t, sandbox, { folder: dirname(path) });
  expect(third.log.some((line) => line['type'] === 'new_epoch')).toBe(false);
  consumer.poll();
  expect(consumer.starts).toBe(starts);
});

interface Position {
  readonly epoch: string;
  readonly last_seq: number;
}

const positionOf = (path: string): Position =>
  present(rows<Position>(path, 'SELECT epoch, last_seq FROM mirror_status')[0]);

test.concurrent(
  'an event log that is moved away while it is written ends the process, with the reason; the next begins a new epoch',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const path = mirror.databasePath;
    const before = positionOf(path);
    renameSync(eventLogPath(path), `${path}.away`);
    expect(await mirror.ended).toMatchObject({ code: 1 });
    expect(
      mirror.log.some((line) => JSON.stringify(line).includes('another program deleted, moved or replaced')),
    ).toBe(true);

    const again = await startMirror(t, sandbox, { folder: dirname(path) });
    await untilLive(again);
    await untilEqual(again, sandbox);
    const after = positionOf(path);
    expect(after.epoch).not.toBe(before.epoch);
    expect(after.last_seq).toBeGreaterThan(before.last_seq);
  },
);
