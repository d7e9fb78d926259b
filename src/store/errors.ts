/** The store's errors: what happened, to which file, what to do next. */
export type StoreErrorKind =
  'in_use' | 'not_a_database' | 'newer_schema' | 'unreachable' | 'cannot_commit' | 'busy' | 'closed';

export class StoreError extends Error {
  readonly kind: StoreErrorKind;

  constructor(kind: StoreErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreError';
    this.kind = kind;
  }
}

/** SQLite's own result code (`SQLITE_BUSY`, …), or null when the error is not SQLite's. */
export function sqliteCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  return typeof error.code === 'string' && error.code.startsWith('SQLITE_') ? error.code : null;
}
