/**
 * The outbox: what a receiver has answered, until it is in the common order for long enough
 * (docs/beyond-one-machine.md#receivers). An event log in its own file, which no mirror is made of.
 */
import { extname } from 'node:path';
import { StoreError } from '../sqlite/errors.ts';
import { explain } from '../sqlite/explain.ts';
import { goneError, HeldFiles } from '../sqlite/held-files.ts';
import { lockDatabase } from '../sqlite/lock.ts';
import type { Db } from '../sqlite/open.ts';
import { EventLog } from './event-log.ts';
import { openLogForAppending } from './open-log.ts';
import type { OwnLog } from './own-log.ts';

/** `.outbox` before the ending of the mirror's file: `data/stock-mirror.db` has `data/stock-mirror.outbox.db`. */
export function outboxPath(databasePath: string): string {
  const ending = extname(databasePath);
  return `${databasePath.slice(0, databasePath.length - ending.length)}.outbox${ending}`;
}

/** @throws StoreError when it is in use, another program's, too new, or out of reach. */
export function openOutbox(path: string): OwnLog {
  const lock = lockDatabase(path);
  let db: Db | undefined;
  try {
    const opened = (db = openLogForAppending(path));
    const log = explain(path, () => new EventLog(opened));
    const files = new HeldFiles([path, `${path}-wal`, `${path}-shm`]);
    const look = (): void => {
      const gone = files.missing();
      if (gone === undefined) return;
      opened.pragma('wal_checkpoint(PASSIVE)');
      throw goneError(gone);
    };
    const heal = (): never => {
      throw new StoreError('unreachable', `${path} is an outbox: no mirror is made of it.`);
    };
    return { db: opened, log, news: [], heal, look, release: () => lock.release() };
  } catch (error) {
    db?.close();
    lock.release();
    throw error;
  }
}
