/** Brings a database to the current schema, whole or not at all. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { MIGRATIONS } from '../platform/own-files.ts';
import { StoreError } from './errors.ts';

/** What drizzle-kit notes of each migration that it makes. */
interface JournalEntry {
  readonly tag: string;
  readonly when: number;
}

let journal: readonly JournalEntry[] | null = null;

function readJournal(): readonly JournalEntry[] {
  if (journal === null) {
    const text = readFileSync(new URL('meta/_journal.json', MIGRATIONS), 'utf8');
    journal = (JSON.parse(text) as { readonly entries: readonly JournalEntry[] }).entries;
  }
  return journal;
}

/** How many migrations this program knows. */
export function knownSchemaVersion(): number {
  return readJournal().length;
}

/** As drizzle's migrator reads it: the statements, and the hash by which it notes them. */
export function readMigration(tag: string): {
  readonly statements: readonly string[];
  readonly hash: string;
} {
  const text = readFileSync(new URL(`${tag}.sql`, MIGRATIONS), 'utf8');
  return { statements: text.split('--> statement-breakpoint'), hash: hash('sha256', text) };
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
 * that, and hides the cause when SQLite has rolled back by itself, as on a full disk; and it
 * would have to be loaded at every start, although nothing is to be migrated.
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
    for (const { tag, when } of readJournal()) {
      if (when <= last) continue;
      const migration = readMigration(tag);
      for (const statement of migration.statements) db.exec(statement);
      note.run(migration.hash, when);
    }
  }).immediate();
}
