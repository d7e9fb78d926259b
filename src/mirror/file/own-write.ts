/** How the mirror's own writes tell the guards of its tables that they are its own (guards.ts). */
import type { Db } from '../../sqlite/open.ts';

/** Changes a row, unless another program has left the guards open. */
export const OPEN_GUARDS = 'UPDATE own_write SET is_open = 1 WHERE is_open = 0';
export const CLOSE_GUARDS = 'UPDATE own_write SET is_open = 0';

/** In one transaction, during which no other program can write. */
export function asOwnWrite<T>(db: Db, work: () => T): T {
  return db.transaction(() => {
    db.exec(OPEN_GUARDS);
    const result = work();
    db.exec(CLOSE_GUARDS);
    return result;
  })();
}
