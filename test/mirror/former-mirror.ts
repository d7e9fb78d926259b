/** A database as the version before kept it: the event log was one of its tables. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { readMigrationFiles } from '../../src/sqlite/drizzle.ts';
import { eventLogPath } from '../../src/event-log/open-log.ts';
import { findFile } from '../../src/sqlite/file-identity.ts';
import { newPath, T0, values, type DirectWriter } from './mirror-file.ts';

/** How many migrations that version had. */
const MIGRATIONS = 9;

/** What that version called the tables, by what they are called now. */
export const FORMER_NAMES: ReadonlyMap<string, string> = new Map([
  ['stock_levels', 'cells'],
  ['product_stock_levels', 'product_cells'],
  ['read_requests', 'obligations'],
  ['dead_letters', 'quarantine'],
]);
const NAMES_NOW = new Map([...FORMER_NAMES].map(([now, former]) => [former, now]));

/** The same history, as the version before would have written it. */
export function formerMirror({ db: made }: DirectWriter): string {
  const path = newPath();
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.pragma('foreign_keys = OFF');
  db.exec(
    'CREATE TABLE __drizzle_migrations (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)',
  );
  const note = db.prepare('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)');
  const files = readMigrationFiles({ migrationsFolder: join(import.meta.dirname, '../../drizzle') });
  for (const { sql, hash, folderMillis } of files.slice(0, MIGRATIONS)) {
    for (const statement of sql) db.exec(statement);
    note.run(hash, folderMillis);
  }
  db.prepare('ATTACH ? AS made').run(made.name);
  db.prepare('ATTACH ? AS made_log').run(eventLogPath(made.name));
  // What triggers keep comes last.
  const kept = ['live_counts', 'product_cells', 'hand_edits', 'own_write'];
  const tables = values<string>(
    db,
    `SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'log'
       AND name <> '__drizzle_migrations'`,
  );
  for (const table of [...tables.filter((name) => !kept.includes(name)), ...kept]) {
    const named = NAMES_NOW.get(table) ?? table;
    const columns = values<string>(
      db,
      `SELECT o.name FROM pragma_table_info(?, 'main') o JOIN pragma_table_info(?, 'made') n ON n.name = o.name`,
      table,
      named,
    ).join(', ');
    // What was written just now is nobody's edit.
    if (table === 'hand_edits') db.exec('DELETE FROM main.hand_edits');
    if (columns === '') continue;
    db.exec(
      `DELETE FROM main.${table}; INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM made.${named}`,
    );
  }
  db.exec(`INSERT INTO main.log (seq, kind, at_ms, body_hash, payload)
             SELECT seq, kind, at_ms, body_hash, payload FROM made_log.log`);
  // A detail that equals the one held was left out without a word of which.
  const read = db.prepare<[], { seq: number; payload: string }>(
    `SELECT seq, CAST(payload AS TEXT) AS payload FROM main.log WHERE kind = 'read'`,
  );
  const rewrite = db.prepare('UPDATE main.log SET payload = CAST(? AS BLOB) WHERE seq = ?');
  for (const { seq, payload } of read.all()) {
    const entry = JSON.parse(payload) as { detail: object | string };
    if (typeof entry.detail === 'object' && 'hash' in entry.detail) {
      rewrite.run(JSON.stringify({ ...entry, detail: 'unchanged' }), seq);
    }
  }
  const { inode, bornAtMs } = findFile(path);
  db.prepare('UPDATE service_state SET file_inode = ?, file_born_at_ms = ?, alive_at_ms = ?').run(
    inode,
    bornAtMs,
    T0 + 5,
  );
  db.exec('DETACH made; DETACH made_log');
  db.close();
  return path;
}
