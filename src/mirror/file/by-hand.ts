/**
 * What shows that another program has got round the guards of the mirror's tables (guards.ts): whatever the file holds then is no
 * longer known to be what the event log says.
 */
import { StoreError } from '../../sqlite/errors.ts';
import type { Db } from '../../sqlite/open.ts';
import { GUARDS } from './guards.ts';
import { VIEWS } from './views.ts';

/** @throws StoreError `changed_by_hand` when a guard or a view is not what the migrations made. */
export function refuseChangedSchema(db: Db): void {
  const made = new Map(
    db
      .prepare<[], [string, string]>(`SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')`)
      .raw()
      .all(),
  );
  for (const [name, sql] of GUARDS) if (made.get(name) !== sql) throw changedByHand(db, `trigger ${name}`);
  for (const [name, sql] of Object.entries(VIEWS)) {
    if (made.get(name)?.endsWith(sql) !== true) throw changedByHand(db, `view ${name}`);
  }
}

/** Rows of the feed alone may be added unrefused. @throws StoreError `changed_by_hand` */
export function refuseForeignChanges(db: Db, lastSeq: number): void {
  const last = db.prepare<[], number | null>('SELECT max(seq) FROM changes').pluck().get() ?? 0;
  if (last > lastSeq) throw changedByHand(db, `change ${last} of the feed`);
}

/** @param what was found changed. */
export function changedByHand(db: Db, what: string): StoreError {
  return new StoreError('changed_by_hand', `${db.name} was changed by hand: ${what}`);
}
