/** Another program, or a person at a shell, writes the mirror's file: refused, and where that was got round, noticed. */
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { GUARDS } from '../../../src/mirror/file/guards.ts';
import { asOwnWrite } from '../../../src/mirror/file/own-write.ts';
import type { StoreNews } from '../../../src/mirror/writer/upkeep.ts';
import { eventually } from '../../process/wait.ts';
import { formerMirror } from '../former-mirror.ts';
import { delivery, detail, DirectWriter, item, rows, storeAt, T0, values, writerDb } from '../mirror-file.ts';

function mirrorOfTwo(): DirectWriter {
  const writer = new DirectWriter();
  for (const id of ['10', '20']) {
    writer.read(id, detail(id, [{ id: `${id}0`, levels: { 1: 5, 2: 7 } }]), T0);
  }
  writer.deliver(delivery('a', item({ update_time: T0 + 60_000 })), T0 + 60_000);
  writer.deliver(delivery('b', item({ update_time: T0 + 70_000, old: 9, new: 8 })), T0 + 70_000);
  writer.deliver(new TextEncoder().encode('}{'), T0 + 70_000);
  writer.append({ kind: 'oblige', atMs: T0 + 80_000, reason: 'stale', productIds: ['10'], variantIds: [] });
  writer.beginRun();
  writer.giveUp('20');
  return writer;
}

/** As a person at a shell would. */
function atAShell(writer: DirectWriter, sql: string): void {
  const other = new Database(writer.db.name);
  try {
    other.exec(sql);
  } finally {
    other.close();
  }
}

test('the guards are those that the migrations leave: `npm run db:views` prints the statements for the next one', () => {
  const made = rows(
    writerDb(),
    `SELECT name, sql FROM sqlite_master WHERE name GLOB '*_guard_*' ORDER BY name`,
  );
  const defined = [...GUARDS].map(([name, sql]) => ({ name, sql }));
  expect(made).toEqual(defined.toSorted((a, b) => (a.name < b.name ? -1 : 1)));
});

test('every table is guarded, but for what other tests show to be noticed', () => {
  const db = writerDb();
  const tables = values<string>(
    db,
    `SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND name <> '__drizzle_migrations'`,
  );
  const open = tables.flatMap((table) =>
    ['insert', 'update', 'delete']
      .map((write) => `${table}_guard_${write}`)
      .filter((name) => !GUARDS.has(name)),
  );
  expect(open.toSorted()).toEqual([
    'changes_guard_insert',
    'live_counts_guard_insert',
    'live_counts_guard_update',
    'own_write_guard_update',
    'product_stock_levels_guard_insert',
    'product_stock_levels_guard_update',
  ]);
});

test.each([
  "UPDATE stock_levels SET qty = 99 WHERE variant_id = '100' AND warehouse_id = '1'",
  'UPDATE OR IGNORE stock_levels SET qty = 99',
  'UPDATE variants SET available_qty = 99',
  "UPDATE products SET name = 'x'",
  "UPDATE product_details SET detail_json = '{}'",
  'UPDATE changes SET new_qty = 1',
  'UPDATE mirror_state SET change_seq = 0',
  'UPDATE service_state SET alive_at_ms = 1',
  "UPDATE runs SET state = 'done'",
  'DELETE FROM stock_levels',
  'DELETE FROM changes WHERE seq = 1',
  'DELETE FROM read_requests',
  'DELETE FROM gaps',
  'DELETE FROM dead_letters',
  'DELETE FROM read_failures',
  'DELETE FROM given_up_reads',
  'DELETE FROM own_write',
  'INSERT OR REPLACE INTO stock_levels SELECT * FROM stock_levels',
  "INSERT INTO products SELECT '30', name, parent_id, update_time_ms, read_seq, read_at_ms, missing_at_ms, gone_at_ms, has_bundle, read_until_ms FROM products LIMIT 1",
])('refused, with the reason: %s', (sql) => {
  const writer = mirrorOfTwo();
  const before = writer.db.serialize();
  expect(() => atAShell(writer, sql)).toThrow(
    'this file is kept by stock-mirror alone, and nothing was changed: open it read-only',
  );
  expect(writer.db.serialize().equals(before)).toBe(true);
});

test.each(['mirror_stock', 'mirror_variants', 'mirror_changes', 'mirror_status'])(
  'refused by SQLite itself: %s is a view',
  (view) => {
    expect(() => atAShell(mirrorOfTwo(), `DELETE FROM ${view}`)).toThrow('because it is a view');
  },
);

test('tables of its own are the business of who makes them', () => {
  const writer = mirrorOfTwo();
  atAShell(
    writer,
    `CREATE TABLE mine (x); INSERT INTO mine VALUES (1); CREATE INDEX mine_too ON stock_levels (qty);
     CREATE TRIGGER mine_as_well AFTER UPDATE ON stock_levels BEGIN UPDATE mine SET x = x + 1; END`,
  );
  writer.deliver(delivery('c', item({ old: 4, new: 3, update_time: T0 + 90_000 })), T0 + 90_000);
  expect(values(writer.db, 'SELECT x FROM mine')).toEqual([2]);
});

test('a transaction of the mirror that fails leaves the guards closed', () => {
  const writer = mirrorOfTwo();
  const [failed] = writer.commit({ kind: 'command', name: 'failRead', args: {} });
  expect(failed?.ok).toBe(false);
  expect(() => atAShell(writer, 'UPDATE stock_levels SET qty = 99')).toThrow('kept by stock-mirror alone');
});

describe('got round', () => {
  const NEXT = { kind: 'command', name: 'alive', args: { atMs: T0 } } as const;

  test.each([
    ['DROP TRIGGER stock_levels_guard_update', 'trigger stock_levels_guard_update'],
    ['DROP TABLE gaps', 'trigger gaps_guard_insert'],
    ['DROP VIEW mirror_stock; CREATE VIEW mirror_stock AS SELECT 1', 'view mirror_stock'],
    ['UPDATE own_write SET is_open = 1', 'its guards were left open'],
    [
      "INSERT INTO changes (seq, log_seq, variant_id, source, recorded_at_ms) VALUES (99, 1, '100', 'read', 0)",
      'change 99 of the feed',
    ],
  ])('noticed by the next transaction: %s', (sql, what) => {
    const writer = mirrorOfTwo();
    atAShell(writer, sql);
    const [result] = writer.commit(NEXT);
    expect(result).toMatchObject({
      ok: false,
      error: { kind: 'changed_by_hand', message: `${writer.db.name} was changed by hand: ${what}` },
    });
  });

  test('the mirror is made anew from the event log, and says why', async () => {
    const news: StoreNews[] = [];
    const { path, writer, reader } = await storeAt(undefined, { onNews: (one) => void news.push(one) });
    await writer.appendDelivery(delivery('a', item()), T0);
    await writer.command('settle', undefined);
    const other = new Database(path);
    other.exec('DROP TRIGGER stock_levels_guard_update; UPDATE stock_levels SET qty = 99');
    other.close();
    await writer.command('alive', { atMs: T0 }).catch(() => undefined);
    await eventually(() => news.length > 0, { what: 'it is set aside' });
    expect(news).toMatchObject([{ type: 'mirror_set_aside' }]);
    expect(news[0]?.message).toMatch(
      /was changed by hand: trigger stock_levels_guard_update: it was moved aside/,
    );
    await eventually(() => writer.stuck === null && writer.appliedSeq === writer.lastSeq, {
      what: 'it is open again',
    });
    const { rows: stock } = await reader.ask('stockRows', {
      after: { variantId: '', warehouseId: '' },
      limit: 9,
    });
    expect(stock).toMatchObject([{ variant_id: '100', available_qty: 4 }]);
  });

  test('while the mirror was stopped', async () => {
    const store = await storeAt();
    await store.writer.appendDelivery(delivery('a', item()), T0);
    await store.writer.command('settle', undefined);
    await store.close();
    const other = new Database(store.path);
    other.exec('DROP TRIGGER stock_levels_guard_update; UPDATE stock_levels SET qty = 99');
    other.close();
    const news: StoreNews[] = [];
    const { writer, reader } = await storeAt(store.path, { onNews: (one) => void news.push(one) });
    await writer.command('settle', undefined);
    expect(news[0]?.message).toContain('was changed by hand: trigger stock_levels_guard_update');
    const { rows: stock } = await reader.ask('stockRows', {
      after: { variantId: '', warehouseId: '' },
      limit: 9,
    });
    expect(stock).toMatchObject([{ variant_id: '100', available_qty: 4 }]);
  });
});

test('what an earlier version noted, and had not repaired yet, is read again', async () => {
  const path = formerMirror(mirrorOfTwo());
  const old = new Database(path);
  old.exec("INSERT OR IGNORE INTO hand_edits VALUES ('10')");
  old.close();
  const { reader } = await storeAt(path);
  const { due } = await reader.ask('nextReads', {
    ...{ nowMs: Date.now() + 5_000, limit: 9, exclude: [], oldestBeforeMs: 0, oldestLimit: 0 },
  });
  expect(due).toContain('10');
});

test("the mirror's own statements pass, whoever asks it to make them", () => {
  const { db } = mirrorOfTwo();
  asOwnWrite(db, () => db.exec('UPDATE stock_levels SET qty = 1; UPDATE stock_levels SET qty = 2'));
  expect(values(db, 'SELECT DISTINCT qty FROM stock_levels')).toEqual([2]);
  expect(() => db.exec('UPDATE stock_levels SET qty = 3')).toThrow('kept by stock-mirror alone');
});
