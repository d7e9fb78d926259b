/** Brings a database to the current schema, whole or not at all. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type Database from 'better-sqlite3';
import { readMigrationFiles } from './drizzle.ts';
import { StoreError } from './errors.ts';

const MIGRATIONS = fileURLToPath(new URL('../../drizzle', import.meta.url));

interface Journal {
  readonly entries: readonly { readonly tag: string }[];
}

/** How many migrations this program knows. */
export function knownSchemaVersion(): number {
  const journal = JSON.parse(readFileSync(`${MIGRATIONS}/meta/_journal.json`, 'utf8')) as Journal;
  return journal.entries.length;
}

/** To be called before anything is written. @throws StoreError when the tables are another program's, or too new. */
export function refuseUnknownSchema(path: string, db: Database.Database): void {
  const names = new Set(
    db
      .prepare<[], string>(`SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`)
      .pluck()
      .all(),
  );
  if (names.size === 0) return;
  if (!names.has('mirror_status') || !names.has('__drizzle_migrations')) {
    throw new StoreError(
      'not_a_database',
      `${path} belongs to another program: set DATABASE_PATH to another file, which will be created.`,
    );
  }
  const found = db.prepare<[], number>('SELECT count(*) FROM __drizzle_migrations').pluck().get() ?? 0;
  const known = knownSchemaVersion();
  if (found <= known) return;
  throw new StoreError(
    'newer_schema',
    `${path} has schema version ${found}, this program knows up to ${known}: ` +
      'install the newer stock-mirror that wrote it, or set DATABASE_PATH to another file.',
  );
}

/**
 * All missing migrations, with their records, in one transaction. Drizzle's own migrator creates its table outside of
 * that, and hides the cause when SQLite has rolled back by itself, as on a full disk.
 */
export function migrate(db: Database.Database): void {
  db.transaction(() => {
    // As drizzle creates it.
    db.exec(
      'CREATE TABLE IF NOT EXISTS __drizzle_migrations (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)',
    );
    const lastMadeAt = db
      .prepare<[], number | null>('SELECT max(created_at) FROM __drizzle_migrations')
      .pluck();
    const last = lastMadeAt.get() ?? Number.NEGATIVE_INFINITY;
    const note = db.prepare('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)');
    for (const { sql, hash, folderMillis } of readMigrationFiles({ migrationsFolder: MIGRATIONS })) {
      if (folderMillis <= last) continue;
      for (const statement of sql) db.exec(statement);
      note.run(hash, folderMillis);
    }
  }).immediate();
}
