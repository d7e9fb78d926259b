/**
 * An older copy of the database comes back under a consumer that reads the views
 * (docs/reading-the-mirror.md#following-changes).
 */
import { copyFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import {
  compareWithTruth,
  eventually,
  plainVariants,
  rows,
  startBoth,
  startMirror,
  statusOf,
  temporaryFolder,
  untilEqual,
  untilLive,
  untilQuiet,
} from './harness.ts';

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
    const status = db
      .prepare<[], { epoch: string; last_seq: number }>('SELECT epoch, last_seq FROM mirror_status')
      .get()!;
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

test.concurrent.for<[string, (path: string, backup: string) => void]>([
  ['written over the database', (path, backup) => copyFileSync(backup, path)],
  [
    'put in the place of the database',
    (path, backup) => {
      copyFileSync(backup, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  ],
])('a consumer starts over when an older copy was %s, and ends equal', async ([, restore], t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 30 });
  const path = mirror.databasePath;
  const [undone, kept, missed] = plainVariants(sandbox, 3);
  const consumer = new Consumer(path);
  consumer.poll();

  const backup = join(temporaryFolder(t), 'backup.db');
  const db = new Database(path, { readonly: true });
  await db.backup(backup);
  db.close();

  // Told to the consumer, unknown to the copy; one of them is undone again before the store goes on.
  for (const cell of [undone!, kept!]) sandbox.operations.add({ ...cell, by: 11 });
  await untilQuiet(mirror, sandbox);
  consumer.poll();
  expect(consumer.told.length).toBeGreaterThanOrEqual(2);
  const { epoch, last } = consumer;
  // The mark is behind by a second at most, and a clean stop writes it.
  await mirror.stop();
  sandbox.webhookUrl = null;
  sandbox.operations.add({ ...undone!, by: -11 });
  sandbox.operations.add({ ...missed!, by: 5 });
  restore(path, backup);
  // As recent as a copy can be: no silence gives it away.
  const copy = new Database(path);
  copy.prepare('UPDATE service_state SET alive_at_ms = ?').run(Date.now() + 5_000);
  copy.close();

  const again = await startMirror(t, sandbox, { folder: dirname(path) });
  expect(again.log.find((line) => line['type'] === 'new_epoch')).toMatchObject({ epochBefore: epoch });
  expect(statusOf(path).state).toBe('catching_up');
  consumer.poll();
  expect(consumer.starts).toBe(2);
  expect(consumer.epoch).not.toBe(epoch);

  await untilLive(again);
  await untilQuiet(again, sandbox);
  await untilEqual(again, sandbox);
  expect(statusOf(path)).toMatchObject({ suspect_count: 0, pending_reads: 0 });
  consumer.poll();
  expect(consumer.starts).toBe(2);
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
  expect(consumer.starts).toBe(2);
});

test.concurrent(
  'a database that is deleted while it is served ends the process, with the reason',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const before = rows<{ epoch: string; last_seq: number }>(
      mirror.databasePath,
      'SELECT epoch, last_seq FROM mirror_status',
    )[0]!;
    renameSync(mirror.databasePath, `${mirror.databasePath}.away`);
    expect(await mirror.ended).toMatchObject({ code: 1 });
    expect(
      mirror.log.some((line) => JSON.stringify(line).includes('another program deleted, moved or replaced')),
    ).toBe(true);

    const again = await startMirror(t, sandbox, { folder: dirname(mirror.databasePath) });
    await untilLive(again);
    await eventually(() => compareWithTruth(again.databasePath, sandbox).length === 0, { what: 'equal' });
    const after = rows<{ epoch: string }>(again.databasePath, 'SELECT epoch FROM mirror_status')[0]!;
    expect(after.epoch).not.toBe(before.epoch);
    expect(
      rows<{ seq: number }>(again.databasePath, 'SELECT min(seq) AS seq FROM mirror_changes')[0]?.seq,
    ).toBeGreaterThan(before.last_seq);
  },
);
