import { messageOf } from '../platform/thrown.ts';
export type SqliteFaultKind =
  | 'in_use'
  | 'not_a_database'
  | 'damaged'
  /** The inbox that the mirror reads, and not its own file. */
  | 'inbox_damaged'
  | 'newer_schema'
  | 'older_schema'
  | 'no_room'
  | 'unreachable'
  | 'cannot_commit'
  | 'busy'
  | 'closed';

export class SqliteFault extends Error {
  readonly kind: SqliteFaultKind;

  constructor(kind: SqliteFaultKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SqliteFault';
    this.kind = kind;
  }
}

/** SQLite's result code (`SQLITE_BUSY`, …), also of a wrapped error; null for other errors. */
export function sqliteCode(error: unknown): string | null {
  for (let found = error; found instanceof Error; found = found.cause) {
    if ('code' in found && typeof found.code === 'string' && found.code.startsWith('SQLITE_')) {
      return found.code;
    }
  }
  return null;
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error)?.startsWith('SQLITE_BUSY') === true;
}

/** The file itself is at fault: the same access would fail again. A short read meets a page that is not there. */
export function isDamage(error: unknown): boolean {
  if (error instanceof SqliteFault && ['damaged', 'inbox_damaged'].includes(error.kind)) return true;
  return /^SQLITE_(?:CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(sqliteCode(error) ?? '');
}

/** Errors lose their class between threads. */
export interface PlainError {
  readonly kind: SqliteFaultKind;
  readonly message: string;
}

export function plainError(error: unknown): PlainError {
  if (error instanceof SqliteFault) return { kind: error.kind, message: error.message };
  return { kind: 'unreachable', message: messageOf(error) };
}
