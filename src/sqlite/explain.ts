/** Turns errors of SQLite and the system into errors that name file, fault and remedy. */
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { messageOf } from '../platform/thrown.ts';
import { sqliteCode, SqliteFault, type SqliteFaultKind } from './errors.ts';

interface Trouble {
  readonly kind: SqliteFaultKind;
  readonly what: string;
  readonly remedy: string;
}

const NO_ROOM: Trouble = {
  kind: 'no_room',
  what: 'has no room on its disk',
  remedy: 'free disk space there',
};

/** SQLite cannot create a file, and says only that it cannot open it. */
const NO_INODES: Trouble = {
  kind: 'no_room',
  what: 'cannot be opened, since its file system has no inodes left',
  remedy: 'delete files there',
};

const NO_SHARED_MEMORY: Trouble = {
  kind: 'unreachable',
  what: 'is on a file system without the locks and shared memory that SQLite needs',
  remedy: 'set DATABASE_PATH to a file on a local disk, not on NFS, CIFS or 9p',
};

const DAMAGED: Trouble = {
  kind: 'damaged',
  what: 'is damaged',
  remedy: 'the mirror moves it aside and reads everything from the store: start it if it does not run',
};

const NOT_WRITABLE: Trouble = {
  kind: 'unreachable',
  what: 'is not writable for this user',
  remedy:
    'make the file and its folder writable for the user who runs stock-mirror, or set DATABASE_PATH to another file',
};

/** By prefix of SQLite's or the system's code; the first match counts. */
const TROUBLES: Readonly<Record<string, Trouble>> = {
  SQLITE_BUSY: { kind: 'busy', what: 'is locked by another program', remedy: 'end its transaction' },
  SQLITE_NOTADB: {
    kind: 'not_a_database',
    what: 'is not a SQLite database',
    remedy: 'move it away, or set DATABASE_PATH to another file',
  },
  SQLITE_CORRUPT: DAMAGED,
  SQLITE_IOERR_SHORT_READ: DAMAGED,
  SQLITE_FULL: NO_ROOM,
  ENOSPC: NO_ROOM,
  // A full disk, seen from the database's shared memory.
  SQLITE_IOERR_SHMSIZE: NO_ROOM,
  SQLITE_IOERR_SHM: NO_SHARED_MEMORY,
  SQLITE_IOERR_LOCK: NO_SHARED_MEMORY,
  SQLITE_PROTOCOL: NO_SHARED_MEMORY,
  SQLITE_IOERR: {
    kind: 'cannot_commit',
    what: 'cannot be read or written',
    remedy: 'check that its disk has room, and that the system’s log reports no fault of the disk',
  },
  SQLITE_READONLY: NOT_WRITABLE,
  EACCES: NOT_WRITABLE,
  EPERM: NOT_WRITABLE,
  EROFS: NOT_WRITABLE,
  SQLITE_CANTOPEN: { ...NOT_WRITABLE, what: 'cannot be opened' },
  ENOTDIR: {
    kind: 'unreachable',
    what: 'cannot be reached: a part of its path is a file',
    remedy: 'set DATABASE_PATH to another file',
  },
};

export function explained(path: string, cause: unknown): SqliteFault {
  if (cause instanceof SqliteFault) return cause;
  const code = sqliteCode(cause) ?? systemCode(cause);
  if (code === 'ERR_DLOPEN_FAILED') return cannotLoad(cause);
  const trouble = mayLackInodes(code) && hasNoInodes(path) ? NO_INODES : troubleOf(code);
  if (trouble === null) {
    const message =
      `${path} cannot be used: ${messageOf(cause)}. If this happens again, ` +
      'install stock-mirror again, or report it.';
    return new SqliteFault('cannot_commit', message, { cause });
  }
  const { kind, what, remedy } = trouble;
  return new SqliteFault(kind, `${path} ${what} (${code}): ${remedy}.`, { cause });
}

/** The package has binaries of SQLite for the common systems. */
function cannotLoad(cause: unknown): SqliteFault {
  const message = messageOf(cause);
  const [, needed] = /version `GLIBC_([\d.]+)' not found/.exec(message) ?? [];
  const why =
    needed === undefined
      ? `${message}: install stock-mirror again on this system, with its Node`
      : `it needs glibc ${needed} or newer, and this system has ${glibcVersion() ?? 'an older one'}: use a newer ` +
        'system, such as Debian 12, Ubuntu 22.04 or RHEL 9, or the container image';
  return new SqliteFault('unreachable', `SQLite cannot be loaded: ${why}.`, { cause });
}

function glibcVersion(): string | undefined {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}

function mayLackInodes(code: string | null): boolean {
  return code === 'ENOSPC' || code?.startsWith('SQLITE_CANTOPEN') === true || code === 'SQLITE_IOERR_SHMOPEN';
}

function hasNoInodes(path: string): boolean {
  try {
    const { files, ffree } = statfsSync(dirname(path));
    // A file system without a table of inodes counts none at all.
    return files > 0 && ffree === 0;
  } catch {
    return false;
  }
}

function troubleOf(code: string | null): Trouble | null {
  return Object.entries(TROUBLES).find(([start]) => code?.startsWith(start) === true)?.[1] ?? null;
}

/** SQLite refuses what it found in the file, and names neither damage nor a lock, a right or the disk. */
export function isUnexplained(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== null && troubleOf(code) === null;
}

export function explain<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw explained(path, cause);
  }
}

/** SQLite silently keeps another journal mode where WAL is impossible. @throws SqliteFault */
export function useWal(db: Database.Database): void {
  if (db.pragma('journal_mode = WAL', { simple: true }) === 'wal') return;
  const { kind, what, remedy } = NO_SHARED_MEMORY;
  throw new SqliteFault(kind, `${db.name} ${what}: ${remedy}.`);
}

export function systemCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
