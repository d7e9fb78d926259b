/** How far a mirror and an event log have come. */
import type { Db } from '../../sqlite/open.ts';
import type { LogPosition, MirrorPosition } from '../start-rule.ts';

export function mirrorPosition(db: Db): MirrorPosition {
  const row = db
    .prepare<[], Omit<MirrorPosition, 'isBackup'> & { readonly isBackup: number }>(
      `SELECT s.epoch AS epoch, m.applied_seq AS appliedSeq, m.change_seq AS changeSeq, s.is_backup AS isBackup
       FROM service_state s, mirror_state m`,
    )
    .get();
  if (row === undefined)
    throw new Error('service_state has no row: the database was changed by another program');
  return { ...row, isBackup: row.isBackup === 1 };
}

/** @param db has the event log as `schema`. */
export function logPosition(db: Db, schema = 'main'): LogPosition {
  const row = db
    .prepare<[], LogPosition>(
      `SELECT epoch, change_seq AS changeSeq, coalesce((SELECT max(seq) FROM ${schema}.log), 0) AS lastSeq,
         coalesce((SELECT min(seq) FROM ${schema}.log), 1) AS firstSeq
       FROM ${schema}.metadata`,
    )
    .get();
  if (row === undefined) throw new Error('the event log has no metadata: another program has changed it');
  return row;
}
