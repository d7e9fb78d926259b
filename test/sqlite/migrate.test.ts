/** A schema is made whole or not at all, whatever interrupts the making. */
import { asOwnWrite } from '../../src/mirror/file/own-write.ts';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EARLIEST_MS } from '../../src/core/limits.ts';
import { readMigrationFiles } from '../../src/sqlite/drizzle.ts';
import { knownSchemaVersion, migrate, readMigration } from '../../src/sqlite/migrate.ts';
import { present } from '../shared/present.ts';
import { run } from '../mirror/child.ts';
import {
  delivery,
  detail,
  DirectWriter,
  item,
  newPath,
  rows,
  T0,
  values,
  writerDb,
} from '../mirror/mirror-file.ts';

function database(path: string): Database.Database {
  const db = new Database(path);
  onTestFinished(() => void db.close());
  return db;
}

const objects = (db: Database.Database): unknown[] => values(db, 'SELECT name FROM sqlite_master');

function expectCompleted(path: string): void {
  const db = writerDb(path);
  expect(values(db, 'SELECT schema_version FROM mirror_status')).toEqual([knownSchemaVersion()]);
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
}

test.each([2, 20, 35])('killed before its statement %i, the next start makes all of it', async (at) => {
  const path = newPath();
  const child = run('die-in-migration.ts', path, String(at));
  await expect(child.nextLine()).rejects.toThrow('ended before');
  expect(existsSync(path)).toBe(true);
  // Half of it is in the file, without a commit.
  if (at > 2) expect(statSync(`${path}-wal`).size).toBeGreaterThan(4_096);
  const left = database(path);
  expect(objects(left)).toEqual([]);
  left.close();
  expectCompleted(path);
});

test.each([1, 3, 37])(
  'a fault in its statement %i leaves nothing, and the next start makes all of it',
  (at) => {
    const path = newPath();
    const db = database(path);
    const exec = db.exec.bind(db);
    let count = 0;
    db.exec = (sql) => {
      count += 1;
      if (count === at) throw new Error('a fault of the disk');
      return exec(sql);
    };
    expect(() => migrate(db)).toThrow('a fault of the disk');
    expect(objects(db)).toEqual([]);
    db.close();
    expectCompleted(path);
  },
);

test('on a disk with room for half of it the cause is told, and nothing is left', () => {
  const path = newPath();
  const db = database(path);
  db.pragma('max_page_count = 20');
  expect(() => migrate(db)).toThrow('database or disk is full');
  expect(objects(db)).toEqual([]);
  db.close();
  expectCompleted(path);
});

test('what was pruned before it was noted is known by what is left', () => {
  const note = present(readMigration('0003_pruned_changes').statements[1]);
  const writer = new DirectWriter();
  const { db } = writer;
  const known = (): unknown => {
    asOwnWrite(db, () => db.exec('UPDATE service_state SET pruned_change_seq = -1'));
    asOwnWrite(db, () => db.exec(note));
    return values(db, 'SELECT pruned_change_seq FROM service_state')[0];
  };
  expect(known()).toBe(0);
  for (let n = 0; n < 5; n += 1) {
    const change = item({ old: 100 - n, new: 99 - n, update_time: T0 + n });
    writer.deliver(delivery(`r${n}`, change), T0 + n);
  }
  expect(known()).toBe(0);
  writer.prune(T0 + 2);
  expect(known()).toBe(present(values<number>(db, 'SELECT min(seq) FROM changes')[0]) - 1);
  writer.prune(T0 + 1_000);
  expect(known()).toBe(values(db, 'SELECT last_seq FROM mirror_status')[0]);
});

/** A file with the migrations before the first that has this text. */
function mirrorBefore(text: string): Database.Database {
  const files = readMigrationFiles({ migrationsFolder: join(import.meta.dirname, '../../drizzle') });
  const at = files.findIndex(({ sql }) => sql.some((statement) => statement.includes(text)));
  const old = database(newPath());
  old.exec(
    'CREATE TABLE __drizzle_migrations (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)',
  );
  const note = old.prepare('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)');
  for (const { sql, hash, folderMillis } of files.slice(0, at)) {
    for (const statement of sql) old.exec(statement);
    note.run(hash, folderMillis);
  }
  return old;
}

test('a mirror of the version before knows no windows of totals and reads yet, and keeps what it has', () => {
  const old = mirrorBefore('`read_until_ms`');
  const path = old.name;
  old.exec(`INSERT INTO products (product_id, read_seq, read_at_ms, has_bundle) VALUES ('10', 1, ${T0}, 0)`);
  old.exec(`INSERT INTO variants (variant_id, product_id, name, kind, available_qty, allow_negative_stock, bundled_by_count,
    as_of_ms, event_seq, event_at_ms, change_seq) VALUES ('100', '10', '', 'own', 5, 0, 0, ${T0}, 0, 0, 1)`);
  old.close();
  const db = writerDb(path);
  expect(values(db, 'SELECT read_until_ms FROM products')).toEqual([EARLIEST_MS]);
  expect(values(db, 'SELECT total_hi_ms FROM variants')).toEqual([EARLIEST_MS]);
  expect(values(db, 'SELECT date_contradictions FROM mirror_state')).toEqual([0]);
  expect(values(db, 'SELECT available_qty FROM mirror_variants')).toEqual([5]);
});

describe('tables that had other names before', () => {
  const NAMES = Object.entries({
    cells: 'stock_levels',
    product_cells: 'product_stock_levels',
    obligations: 'read_requests',
    quarantine: 'dead_letters',
  });

  /** With rows in all of them, and with what another program has put beside them. */
  function formerFile(): Database.Database {
    const made = new DirectWriter();
    made.read('10', detail('10', [{ id: '100', levels: { 1: 5, 2: 7 } }]), T0);
    made.deliver(
      delivery('r1', item({ old: 9, new: 8, update_time: T0 + 90_000 }), item({ id: 'not one' })),
      T0 + 90_000,
    );
    made.append({
      kind: 'oblige',
      atMs: T0 + 91_000,
      reason: 'not_stored',
      productIds: ['10'],
      variantIds: [],
    });
    const old = mirrorBefore('RENAME TO stock_levels');
    old.prepare('ATTACH ? AS made').run(made.db.name);
    asOwnWrite(old, () => {
      for (const table of [
        'products',
        'variants',
        'mirror_state',
        'service_state',
        'live_counts',
        'changes',
      ]) {
        old.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM made.${table}`);
      }
      for (const [former, now] of NAMES) {
        old.exec(`DELETE FROM main.${former}; INSERT INTO main.${former} SELECT * FROM made.${now}`);
        expect(values(old, `SELECT count(*) FROM main.${former}`), former).not.toEqual([0]);
      }
      old.exec('DELETE FROM live_counts; INSERT INTO live_counts SELECT * FROM made.live_counts');
      old.exec(
        'DELETE FROM product_cells; INSERT INTO product_cells SELECT * FROM made.product_stock_levels',
      );
    });
    old.exec('DETACH made');
    old.exec(`CREATE VIEW mine AS SELECT * FROM cells; CREATE VIEW broken AS SELECT * FROM elsewhere;
      CREATE INDEX mine_too ON cells (qty); CREATE TABLE seen (x);
      CREATE TRIGGER mine_as_well AFTER UPDATE ON cells BEGIN INSERT INTO seen VALUES (NEW.qty); END`);
    return old;
  }

  const contents = (db: Database.Database, at: 0 | 1): unknown[] =>
    NAMES.map((names) => rows(db, `SELECT * FROM ${names[at]}`));
  const places = (db: Database.Database): unknown[] =>
    values(
      db,
      `SELECT rootpage FROM sqlite_master WHERE rootpage > 0 AND name NOT LIKE 'sqlite%' ORDER BY rootpage`,
    );

  test('keep every row in its place, whatever else is in the file', () => {
    const old = formerFile();
    const [was, at] = [contents(old, 0), places(old)];
    const shown = rows(old, 'SELECT * FROM mirror_stock');
    expect(shown).toHaveLength(2);
    // Opened like any mirror: the views and the guards are what they are said to be.
    const db = writerDb(old.name);
    expect(contents(db, 1)).toEqual(was);
    expect(places(db)).toEqual(at);
    expect(rows(db, 'SELECT * FROM mirror_stock')).toEqual(shown);
    expect(() => db.exec('UPDATE stock_levels SET qty = 6')).toThrow('kept by stock-mirror alone');
    expect(() => db.exec('DELETE FROM product_stock_levels')).toThrow('kept by stock-mirror alone');
    asOwnWrite(db, () => db.exec(`UPDATE stock_levels SET gone_at_ms = 1 WHERE warehouse_id = '2'`));
    expect(values(db, 'SELECT cells FROM live_counts')).toEqual([1]);
    expect(rows(db, 'SELECT * FROM product_stock_levels')).toEqual([{ product_id: '10', cells: 1 }]);
    expect(values(db, 'SELECT count(*) FROM seen')).toEqual([1]);
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(db.pragma('legacy_alter_table', { simple: true })).toBe(0);
  });

  test('are what a new file has', () => {
    const made = (db: Database.Database) =>
      values<string>(
        db,
        `SELECT name || ': ' || tbl_name || ': ' || sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name`,
      );
    const old = mirrorBefore('RENAME TO stock_levels');
    migrate(old);
    expect(made(old)).toEqual(made(writerDb(newPath())));
    expect(
      made(old).filter((one) =>
        /\b(product_cells|obligations|quarantine)\b|(FROM|JOIN|ON) .?cells\b/.test(one),
      ),
    ).toEqual([]);
  });

  test('a fault in any of its statements leaves the file as it was', () => {
    const old = formerFile();
    const made = () => rows(old, 'SELECT type, name, tbl_name, sql FROM sqlite_master');
    const [was, before] = [made(), contents(old, 0)];
    const exec = old.exec.bind(old);
    const { length } = readMigration('0018_table_names').statements;
    for (let at = 1; at <= length; at += 1) {
      let count = 0;
      old.exec = (sql) => {
        count += 1;
        // The first makes drizzle's table.
        if (count === at + 1) throw new Error('a fault of the disk');
        return exec(sql);
      };
      expect(() => migrate(old)).toThrow('a fault of the disk');
      expect([made(), contents(old, 0)]).toEqual([was, before]);
    }
    old.exec = exec;
    migrate(old);
    expect(contents(old, 1)).toEqual(before);
  });
});

test("the migrations are read and noted as drizzle's own migrator does it", () => {
  const files = readMigrationFiles({ migrationsFolder: join(import.meta.dirname, '../../drizzle') });
  const noted = writerDb(newPath())
    .prepare('SELECT hash, created_at AS folderMillis FROM __drizzle_migrations ORDER BY created_at')
    .all();
  expect(noted).toEqual(files.map(({ hash, folderMillis }) => ({ hash, folderMillis })));
  expect(readMigration('0003_pruned_changes').statements).toEqual(present(files[3]).sql);
});
