/** Clear words about a database file that cannot be used. */
import { isBusy, sqliteCode, StoreError } from './errors.ts';

/** Runs `open`, and says of whatever it throws which file it was and what to do. @throws StoreError */
export function explain<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    const code = sqliteCode(cause);
    if (code === 'SQLITE_NOTADB' || code?.startsWith('SQLITE_CORRUPT') === true) {
      throw new StoreError(
        'not_a_database',
        `${path} is not a usable SQLite database (${code}): move it away, or set DATABASE_PATH to another file.`,
        { cause },
      );
    }
    if (isBusy(cause)) {
      throw new StoreError(
        'busy',
        `${path} is locked by another program: end its transaction, then start again.`,
        { cause },
      );
    }
    throw new StoreError(
      'unreachable',
      `cannot open ${path} (${cause instanceof Error ? cause.message : String(cause)}): see that the user who runs ` +
        'stock-mirror may write the file and its folder, or set DATABASE_PATH to another file.',
      { cause },
    );
  }
}
