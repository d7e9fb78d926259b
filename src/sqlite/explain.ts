/** Clear words about a database file that cannot be used: what is wrong with it, and what to do. */
import { isBusy, sqliteCode, StoreError, type StoreErrorKind } from './errors.ts';
import type { Db } from './open.ts';
import { messageOf } from '../platform/thrown.ts';

interface Trouble {
  readonly kind: StoreErrorKind;
  /** Follows the path. */
  readonly what: string;
  readonly remedy: string;
}

const MAY_WRITE =
  'make the file and its folder writable for the user who runs stock-mirror, or set DATABASE_PATH to another file';

const NO_ROOM: Trouble = {
  kind: 'no_room',
  what: 'has no room on its disk',
  remedy: 'free disk space there',
};

const NO_SHARED_MEMORY: Trouble = {
  kind: 'unreachable',
  what: 'is on a file system without the locks and shared memory that SQLite needs',
  remedy: 'set DATABASE_PATH to a file on a local disk, not on NFS, CIFS or 9p',
};

/** By the beginning of the code that SQLite or the system gives: the first that fits. */
const TROUBLES: Readonly<Record<string, Trouble>> = {
  SQLITE_NOTADB: {
    kind: 'not_a_database',
    what: 'is not a SQLite database',
    remedy: 'move it away, or set DATABASE_PATH to another file',
  },
  SQLITE_CORRUPT: {
    kind: 'damaged',
    what: 'is damaged',
    remedy: 'stop the mirror, then move the file away: the next start reads everything from the store',
  },
  SQLITE_FULL: NO_ROOM,
  ENOSPC: NO_ROOM,
  // How a full disk shows in the shared memory beside the database.
  SQLITE_IOERR_SHMSIZE: NO_ROOM,
  SQLITE_IOERR_SHM: NO_SHARED_MEMORY,
  SQLITE_IOERR_LOCK: NO_SHARED_MEMORY,
  SQLITE_PROTOCOL: NO_SHARED_MEMORY,
  SQLITE_IOERR: {
    kind: 'unreachable',
    what: 'cannot be read or written',
    remedy: 'check that its disk has room, and that the system’s log reports no fault of the disk',
  },
  SQLITE_READONLY: { kind: 'unreachable', what: 'is not writable for this user', remedy: MAY_WRITE },
};

function troubleOf(code: string | null): Trouble | null {
  const found = Object.entries(TROUBLES).find(([start]) => code?.startsWith(start) === true);
  return found === undefined ? null : found[1];
}

/** What a person can do about an error of SQLite during the work; null when nothing is known. */
export function remedyFor(error: unknown): string | null {
  const trouble = troubleOf(sqliteCode(error));
  return trouble === null ? null : `the database ${trouble.what}: ${trouble.remedy}`;
}

/** A commit that failed, in words. */
export function failureOf(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  const message = messageOf(cause);
  if (isBusy(cause)) {
    return new StoreError('busy', `another program holds the database's write lock: ${message}`, { cause });
  }
  const code = sqliteCode(cause) ?? 'no SQLite code';
  const remedy = remedyFor(cause);
  return new StoreError(
    troubleOf(code) === NO_ROOM ? 'no_room' : 'cannot_commit',
    `the database cannot commit (${code}): ${message}${remedy === null ? '' : `; ${remedy}`}`,
    { cause },
  );
}

/** Turns the write-ahead log on. SQLite keeps another journal without an error where it cannot. @throws StoreError */
export function useWal(db: Db): void {
  if (db.pragma('journal_mode = WAL', { simple: true }) === 'wal') return;
  const { kind, what, remedy } = NO_SHARED_MEMORY;
  throw new StoreError(kind, `${db.name} ${what}: ${remedy}.`);
}

/** Runs `open`, and adds to whatever it throws which file it was and what to do. @throws StoreError */
export function explain<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    if (isBusy(cause)) {
      throw new StoreError(
        'busy',
        `${path} is locked by another program: end its transaction, then start again.`,
        { cause },
      );
    }
    const code = sqliteCode(cause) ?? systemCode(cause);
    const trouble = troubleOf(code);
    if (trouble !== null) {
      throw new StoreError(trouble.kind, `${path} ${trouble.what} (${code}): ${trouble.remedy}.`, { cause });
    }
    throw new StoreError('unreachable', `cannot open ${path} (${messageOf(cause)}): ${MAY_WRITE}.`, {
      cause,
    });
  }
}

/** A full disk and the like, with the file it happened to; anything else as it is. */
export function explained(error: unknown, path: string): unknown {
  try {
    explain(path, () => {
      throw error;
    });
  } catch (named) {
    return error instanceof Error && 'code' in error ? named : error;
  }
  return error;
}

function systemCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
