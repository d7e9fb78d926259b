import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type Database from 'better-sqlite3';
import type * as Driver from 'drizzle-orm/better-sqlite3';
import type * as Migrator from 'drizzle-orm/better-sqlite3/migrator';
import { MIGRATIONS } from '../platform/own-files.ts';
import { SqliteFault } from './errors.ts';

interface Journal {
  readonly entries: readonly { readonly when: number }[];
}

function journal(): Journal['entries'] {
  const text = readFileSync(new URL('meta/_journal.json', MIGRATIONS), 'utf8');
  return (JSON.parse(text) as Journal).entries;
}

export function knownSchemaVersion(): number {
  return journal().length;
}

/** Call it before writing anything. @throws SqliteFault if the tables are another program's, or too new. */
export function refuseUnknownSchema(path: string, db: Database.Database): void {
  const names = new Set(
    db
      .prepare<[], string>(`SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`)
      .pluck()
      .all(),
  );
  // A first start that was killed may have left only drizzle's table.
  if ([...names].every((name) => name === '__drizzle_migrations')) return;
  if (!names.has('mirror_state') || !names.has('__drizzle_migrations')) {
    throw new SqliteFault(
      'not_a_database',
      `${path} belongs to another program: set DATABASE_PATH to another file, which will be created.`,
    );
  }
  const found = db.prepare<[], number>('SELECT count(*) FROM __drizzle_migrations').pluck().get() ?? 0;
  const known = knownSchemaVersion();
  if (found <= known) return;
  throw new SqliteFault(
    'newer_schema',
    `${path} has schema version ${found}, this program knows up to ${known}: ` +
      'install the newer stock-mirror that wrote it, or set DATABASE_PATH to another file.',
  );
}

/** Loads drizzle only for a pending migration: it takes some 15 MB per thread. */
export function migrate(db: Database.Database): void {
  if (isCurrent(db)) return;
  const { drizzle } = createRequire(import.meta.url)('drizzle-orm/better-sqlite3') as typeof Driver;
  const migrator = createRequire(import.meta.url)('drizzle-orm/better-sqlite3/migrator') as typeof Migrator;
  migrator.migrate(drizzle({ client: db }), { migrationsFolder: fileURLToPath(MIGRATIONS) });
}

function isCurrent(db: Database.Database): boolean {
  const has = db.prepare(`SELECT 1 FROM sqlite_master WHERE name = '__drizzle_migrations'`).get();
  if (has === undefined) return false;
  const last = db
    .prepare<[], number | null>('SELECT max(created_at) FROM __drizzle_migrations')
    .pluck()
    .get();
  return last === journal().at(-1)?.when;
}
