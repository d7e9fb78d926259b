/** What may have been missed is written before the deliveries of its commit (docs/architecture.md#inbox). */
import type { Db } from '../../../src/sqlite/open.ts';
import { prepared } from '../../shared/prepared.ts';

interface Row {
  readonly seq: number;
  readonly kind: string;
}

/**
 * @param db the connection that is about to commit. @returns what is wrong with the order of its new rows;
 * null if nothing.
 */
export function misorderedRows(db: Db, afterSeq: number): string | null {
  const rows = prepared<[number], Row>(db, 'SELECT seq, kind FROM inbox WHERE seq > ? ORDER BY seq').all(
    afterSeq,
  );
  const firstDelivery = rows.find(({ kind }) => kind === 'delivery');
  const lateMissed = rows.find(
    ({ seq, kind }) => kind === 'missed' && firstDelivery !== undefined && seq > firstDelivery.seq,
  );
  if (firstDelivery === undefined || lateMissed === undefined) return null;
  return `the missed row ${lateMissed.seq} comes after the delivery ${firstDelivery.seq} of the same commit`;
}

export function lastSeqOf(db: Db): number {
  return (
    prepared<[], { readonly seq: number | null }>(db, 'SELECT max(seq) AS seq FROM inbox').get()?.seq ?? 0
  );
}
