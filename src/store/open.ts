/** Opens the database: pragmas and migrations. */
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { StoreError } from './errors.ts';
import { explain } from './explain.ts';

export type Db = Database.Database;

const MIGRATIONS = fileURLToPath(new URL('../../drizzle', import.meta.url));

/** How long one statement waits for another program's lock. Below the deadline of an answer (DESIGN §5). */
const BUSY_TIMEOUT_MS = 500;

/** The only connection that may write, migrated to the present schema. Creates file and folder when missing. */
export function openWriter(path: string): Db {
  return explain(path, () => {
    mkdirSync(dirname(path), { recursive: true });
    const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      // FULL: a commit is on disk before it returns. Checkpoints run on a thread of their own.
      db.pragma('journal_mode = WAL');
      db.pragma('synchronous = FULL');
      // macOS calls a write durable before it is, unless told; elsewhere this changes nothing.
      db.pragma('fullfsync = ON');
      db.pragma('foreign_keys = ON');
      db.pragma('wal_autocheckpoint = 0');
      db.pragma('cache_size = -65536');
      db.pragma('temp_store = MEMORY');
      refuseNewerSchema(path, db);
      migrate(drizzle(db), { migrationsFolder: MIGRATIONS });
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** A connection that cannot write: the file is opened read-only and queries are all it may do. */
export function openReader(path: string): Db {
  return explain(path, () => {
    const db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    db.pragma('query_only = ON');
    db.pragma('temp_store = MEMORY');
    return db;
  });
}

interface Journal {
  readonly entries: readonly { readonly tag: string }[];
}

/** How many migrations this program knows. */
export function knownSchemaVersion(): number {
  const journal = JSON.parse(readFileSync(`${MIGRATIONS}/meta/_journal.json`, 'utf8')) as Journal;
  return journal.entries.length;
}

function refuseNewerSchema(path: string, db: Db): void {
  const has = db.prepare(`SELECT 1 FROM sqlite_master WHERE name = '__drizzle_migrations'`).get();
  if (has === undefined) return;
  const found = db.prepare('SELECT count(*) FROM __drizzle_migrations').pluck().get() as number;
  const known = knownSchemaVersion();
  if (found <= known) return;
  throw new StoreError(
    'newer_schema',
    `${path} has schema version ${found}, this program knows up to ${known}: ` +
      'install the newer stock-mirror that wrote it, or set DATABASE_PATH to another file.',
  );
}
