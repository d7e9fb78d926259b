/** The database as its one writer opens it: locked, migrated, and checked whether its history continues. */
import { takeUpHistory } from './epoch.ts';
import { explain } from './explain.ts';
import { lockDatabase } from './lock.ts';
import { MarkKeeper } from './mark.ts';
import { openWriter } from './open-writer.ts';
import type { OwnDatabase } from './write-loop.ts';

/** @throws StoreError when the database is in use, not a database, too new, or out of reach. */
export function openOwnDatabase(path: string): OwnDatabase {
  const lock = lockDatabase(path);
  let db;
  try {
    db = openWriter(path);
    const opened = db;
    const news = explain(path, () => takeUpHistory(opened, path, Date.now()));
    const keeper = new MarkKeeper(db, path);
    return {
      db,
      news,
      beforeClose: () => {
        const unwritten = keeper.keep();
        return unwritten === null ? [] : [unwritten];
      },
      release: () => lock.release(),
    };
  } catch (error) {
    db?.close();
    lock.release();
    throw error;
  }
}
