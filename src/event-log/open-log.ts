/** The event log's file: where it is, how it is opened, what it is made of. */
import { chmodSync } from 'node:fs';
import { dirname, extname } from 'node:path';
import Database from 'better-sqlite3';
import { StoreError } from '../sqlite/errors.ts';
import { explain } from '../sqlite/explain.ts';
import { makeFolder } from '../sqlite/make-folder.ts';
import type { Db } from '../sqlite/open.ts';

/** `.log` before the ending of the mirror's file: `data/stock-mirror.db` has `data/stock-mirror.log.db`. */
export function eventLogPath(databasePath: string): string {
  const ending = extname(databasePath);
  return `${databasePath.slice(0, databasePath.length - ending.length)}.log${ending}`;
}

/** "smlg" */
const APPLICATION_ID = 0x736d6c67;
const VERSION = 1;

const TABLES = `
  CREATE TABLE log (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    body_hash BLOB,
    payload BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX log_body_hash ON log (body_hash) WHERE body_hash IS NOT NULL;
  -- The last detail logged for each product, by its hash.
  CREATE TABLE details (
    product_id TEXT PRIMARY KEY,
    hash BLOB NOT NULL,
    seq INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE metadata (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch TEXT NOT NULL,
    alive_at_ms INTEGER,
    -- The highest change number known to be handed out.
    change_seq INTEGER NOT NULL
  ) STRICT;
  INSERT INTO metadata (id, epoch, change_seq) VALUES (1, lower(hex(randomblob(8))), 0);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${VERSION};`;

/** One statement waits this long for a reader that recovers the write-ahead log: nobody else writes here. */
const BUSY_TIMEOUT_MS = 500;

/** The connection that appends. Creates file and folder when missing. @throws StoreError */
export function openLogForAppending(path: string): Db {
  return explain(path, () => {
    makeFolder(dirname(path));
    const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      refuseAnother(path, db);
      chmodSync(path, 0o600);
      // FULL: an entry is on disk before its commit returns.
      db.pragma('journal_mode = WAL');
      db.pragma('synchronous = FULL');
      // macOS reports a write as durable before it is, unless asked for more; elsewhere this changes nothing.
      db.pragma('fullfsync = ON');
      // After the answers, not in the middle of a commit: append-loop.ts.
      db.pragma('wal_autocheckpoint = 0');
      db.pragma(`journal_size_limit = ${64 << 20}`);
      // Little: entries touch the ends of the table and of its index.
      db.pragma('cache_size = -2048');
      if (db.pragma('user_version', { simple: true }) === 0) makeTables(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

export function makeTables(db: Db): void {
  db.transaction(() => db.exec(TABLES)).immediate();
}

/** For the projection and the page. @throws StoreError */
export function openLogForReading(path: string): Db {
  return explain(path, () => {
    const db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    db.pragma('query_only = ON');
    return db;
  });
}

function refuseAnother(path: string, db: Db): void {
  const tables = db.prepare<[], number>('SELECT count(*) FROM sqlite_master').pluck().get() ?? 0;
  if (tables === 0) return;
  if (db.pragma('application_id', { simple: true }) !== APPLICATION_ID) {
    throw new StoreError(
      'not_a_database',
      `${path} belongs to another program: the event log would be there; move it away, or set DATABASE_PATH to another file.`,
    );
  }
  const version = db.pragma('user_version', { simple: true }) as number;
  if (version > VERSION) {
    throw new StoreError(
      'newer_schema',
      `${path} has version ${version}, this program knows up to ${VERSION}: install the newer stock-mirror that wrote it.`,
    );
  }
}
