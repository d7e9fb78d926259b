/** What may have been missed is written before the deliveries of its commit (docs/architecture.md#inbox). */
import type { Db } from '../../../src/sqlite/open.ts';

interface Row {
  readonly seq: number;
  readonly kind: string;
}

/**
 * @param db the connection that is about to commit. @returns what is wrong with the order of its new rows;
 * null if nothing.
 */
export function misorderedRows(db: Db, afterSeq: number): string | null {
  const rows = db
    .prepare<[number], Row>('SELECT seq, kind FROM inbox WHERE seq > ? ORDER BY seq')
    .all(afterSeq);
  const firstDelivery = rows.find(({ kind }) => kind === 'delivery');
  const lateMissed = rows.find(
    ({ seq, kind }) => kind === 'missed' && firstDelivery !== undefined && seq > firstDelivery.seq,
  );
  if (firstDelivery === undefined || lateMissed === undefined) return null;
  return `the missed row ${lateMissed.seq} comes after the delivery ${firstDelivery.seq} of the same commit`;
}

export function lastSeqOf(db: Db): number {
  return db.prepare<[], number | null>('SELECT max(seq) FROM inbox').pluck().get() ?? 0;
}
