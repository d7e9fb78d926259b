import type { Db } from './open.ts';

/** Commits all that `work` writes, or nothing. */
export function transact<T>(db: Db, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } finally {
    // SQLite rolls back on some errors; a failed COMMIT may leave the transaction open.
    if (db.inTransaction) db.exec('ROLLBACK');
  }
}
