/** Locks and opens the file of the inbox. Creates it if needed, and replaces one that is damaged or has another version. */
import { randomBytes } from 'node:crypto';
import { renameSync } from 'node:fs';
import { setAccess } from '../platform/access.ts';
import Database from 'better-sqlite3';
import {
  INBOX_APPLICATION_ID,
  INBOX_SCHEMA_VERSION,
  INBOX_TABLES,
  inboxEnds,
  inboxPath,
  readReceiver,
} from '../inbox/inbox-file.ts';
import { missedBody } from '../inbox/missed.ts';
import { hasApplicationId } from '../sqlite/application-id.ts';
import { moveAside, ownFile, removeDatabase } from '../sqlite/database-files.ts';
import { isDamage, SqliteFault } from '../sqlite/errors.ts';
import { explain, explained, isUnexplained, useWal } from '../sqlite/explain.ts';
import { holdFiles } from '../sqlite/held-files.ts';
import { isThere } from '../sqlite/is-there.ts';
import { lockDatabase } from '../sqlite/lock.ts';
import { BUSY_TIMEOUT_MS, type Db } from '../sqlite/open.ts';
import { prepareStatements } from './inbox-statements.ts';
import { refuseCutFile } from '../sqlite/refuse-cut-file.ts';
import { transact } from '../sqlite/transact.ts';

export interface OpenInbox {
  readonly db: Db;
  /** @throws Error once the files are gone: later commits would be lost. */
  readonly check: () => void;
  readonly close: () => void;
  /** Moves the damaged file aside and opens a new one. @param lastSeq numbers of rows continue after it. */
  readonly replace: (damage: unknown, lastSeq: number) => OpenInbox;
}

export interface InboxOptions {
  /** Epoch ms, wall clock. */
  readonly now: () => number;
  /** Called once a new file is in the place of one that cannot be used. */
  readonly onReplaced: (damage: SqliteFault, movedTo: string) => void;
}

/** @throws SqliteFault if another process has it. */
export function lockAndOpen(databasePath: string, { now, onReplaced }: InboxOptions): OpenInbox {
  const path = inboxPath(databasePath);
  const lock = lockDatabase(path);
  const held = (db: Db): OpenInbox => {
    // A deleted write-ahead log is still open: save its content into the file.
    const save = (): unknown => db.pragma('wal_checkpoint(PASSIVE)');
    const { check } = holdFiles([path, `${path}-wal`, `${path}-shm`, ownFile(path, 'lock')], { save });
    return {
      db,
      check,
      close: () => {
        db.close();
        lock.release();
      },
      replace: (damage, lastSeq) => replaced({ damage, lastSeq, closeOld: () => db.close() }),
    };
  };
  const replaced = ({ damage, lastSeq, closeOld }: Replaced): OpenInbox => {
    const { db, movedTo } = explain(path, () => replaceFile(path, { lastSeq, atMs: now() }, closeOld));
    onReplaced(explained(path, damage), movedTo);
    return held(db);
  };
  const open = (): OpenInbox => {
    try {
      return held(openForWriting(path));
    } catch (damage) {
      // A new file opens without an error, so this one is at fault.
      const isNewer = damage instanceof SqliteFault && damage.kind === 'newer_schema';
      const isUnusable = isNewer || isDamage(damage) || isUnexplained(damage);
      if (!isUnusable || !isOurs(path, databasePath)) throw damage;
      return replaced({ damage, lastSeq: 0, closeOld: () => undefined });
    }
  };
  try {
    return open();
  } catch (error) {
    lock.release();
    throw error;
  }
}

interface Replaced {
  readonly damage: unknown;
  readonly lastSeq: number;
  readonly closeOld: () => void;
}

/** Otherwise a file that cannot be used may be another program's. */
function isOurs(path: string, databasePath: string): boolean {
  return hasApplicationId(path, INBOX_APPLICATION_ID) || isThere(databasePath);
}

/** Known facts about an inbox whose file is lost. */
interface LostInbox {
  /** 0 if it is not known. */
  readonly lastSeq: number;
  /** Epoch ms. */
  readonly atMs: number;
}

function replaceFile(
  path: string,
  lost: LostInbox,
  closeOld: () => void,
): { readonly db: Db; readonly movedTo: string } {
  const unfinished = ownFile(path, 'unfinished');
  removeDatabase(unfinished);
  openForWriting(unfinished, lost).close();
  // The connection that is closed last deletes the write-ahead log at its path, which must not be the new file's.
  closeOld();
  const movedTo = moveAside(path);
  renameSync(unfinished, path);
  return { db: openForWriting(path), movedTo };
}

/** Opens and if needed creates the file, without its lock. @throws SqliteFault */
export function openForWriting(path: string, lost: LostInbox | null = null): Db {
  return explain(path, () => {
    const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      const isEmpty = db.prepare('SELECT 1 FROM sqlite_master').get() === undefined;
      if (!isEmpty) {
        takeOver(db);
        refuseOtherVersion(db);
      }
      setAccess(path, { mode: 0o600 });
      useWal(db);
      refuseCutFile(db);
      // FULL: a commit returns once it is on disk; macOS needs fullfsync for that.
      db.pragma('synchronous = FULL');
      db.pragma('fullfsync = ON');
      // Checkpoints run after the answers, not inside a commit.
      db.pragma('wal_autocheckpoint = 0');
      db.pragma(`journal_size_limit = ${64 << 20}`);
      // Small, because appends touch only the end of the table and of its index.
      db.pragma('cache_size = -2048');
      transact(db, () => {
        if (isEmpty) {
          createTables(db);
          if (lost !== null) noteLost(db, lost);
        } else {
          // A file that another tool left without a write-ahead log gets one by the first write.
          db.exec('UPDATE receiver SET id = 1');
        }
      });
      refuseDamage(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** @throws SqliteFault if the file is another program's. */
function takeOver(db: Db): void {
  if (db.pragma('application_id', { simple: true }) === INBOX_APPLICATION_ID) return;
  const ownTables = `SELECT count(*) FROM sqlite_master WHERE name IN ('inbox', 'receiver')`;
  if (db.prepare<[], number>(ownTables).pluck().get() === 2) {
    // Only the header is damaged.
    db.pragma(`application_id = ${INBOX_APPLICATION_ID}`);
    return;
  }
  throw new SqliteFault(
    'not_a_database',
    `${db.name} belongs to another program: move it away, or set DATABASE_PATH to another file.`,
  );
}

/** @throws SqliteFault if another version of this program wrote the file. */
function refuseOtherVersion(db: Db): void {
  const version = db.pragma('user_version', { simple: true });
  if (version === INBOX_SCHEMA_VERSION) return;
  throw new SqliteFault(
    'newer_schema',
    `${db.name} has schema version ${String(version)}, this program knows ${INBOX_SCHEMA_VERSION}.`,
  );
}

/** Looks at the tables, the row of the receiver and both ends of the rows. A commit or read meets other damage. */
function refuseDamage(db: Db): void {
  prepareStatements(db);
  const verdict = db.pragma('quick_check(receiver)', { simple: true });
  if (verdict !== 'ok') throw new SqliteFault('damaged', `${db.name} is damaged: ${String(verdict)}`);
  readReceiver(db);
  inboxEnds(db);
}

function createTables(db: Db): void {
  db.exec(INBOX_TABLES);
  db.prepare('INSERT INTO receiver (id, inbox_id) VALUES (1, ?)').run(randomBytes(8).toString('hex'));
}

/**
 * Like after a run that was killed at an unknown time. Later deliveries are missed by the next run alone, so the row counts as
 * one that a run left in order.
 */
function noteLost(db: Db, { lastSeq, atMs }: LostInbox): void {
  const missed = missedBody({ why: 'killed', sinceMs: null, untilMs: atMs, variantIds: null });
  db.prepare<[number, number, Buffer]>(
    `INSERT INTO inbox (seq, kind, arrived_at_ms, body) VALUES (?, 'missed', ?, ?)`,
  ).run(lastSeq + 1, atMs, missed);
  db.prepare<[number]>('UPDATE receiver SET alive_at_ms = ?, is_stopped = 1').run(atMs);
}
