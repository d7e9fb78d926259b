/**
 * The changes of one variant, in the feed's order or against it, from the index that is made in shares of the feed.
 */
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import { SHARE_BITS } from '../file/shares.ts';

const SHARE = 2 ** SHARE_BITS;
const shareOf = (seq: number): number => Math.floor(seq / SHARE);

interface Asked {
  readonly variantId: string;
  /** The columns of each row: SQL. */
  readonly columns: string;
  /** This many shares are searched; by default all. */
  readonly shares?: number;
}

/** A share without the variant costs a microsecond or two; there is one for 8,192 changes. */
export type Found<Row> =
  | { readonly kind: 'row'; readonly row: Row }
  /** As many shares as requested were searched, and there are more. */
  | { readonly kind: 'more' };

/** Numbers below `beforeSeq`, the last first. */
export function changesBefore<Row>(
  db: Db,
  { beforeSeq, ...asked }: Asked & { readonly beforeSeq: number },
): Generator<Found<Row>> {
  const { first, last } = endsOf(db);
  const shares = sharesFrom(shareOf(Math.min(beforeSeq - 1, last)), shareOf(first), -1);
  return changesIn(db, asked, { shares, condition: 'seq < ? ORDER BY seq DESC', bound: beforeSeq });
}

/** Numbers from `fromSeq` on. */
export function changesFrom<Row>(
  db: Db,
  { fromSeq, ...asked }: Asked & { readonly fromSeq: number },
): Generator<Found<Row>> {
  const { first, last } = endsOf(db);
  const shares = sharesFrom(shareOf(Math.max(fromSeq, first)), shareOf(last), 1);
  return changesIn(db, asked, { shares, condition: 'seq >= ? ORDER BY seq', bound: fromSeq });
}

interface Within {
  readonly shares: Iterable<number>;
  readonly condition: string;
  readonly bound: number;
}

function* changesIn<Row>(
  db: Db,
  { variantId, columns, shares: wanted = Infinity }: Asked,
  { shares, condition, bound }: Within,
): Generator<Found<Row>> {
  const select = prepared<[number, string, number], Row>(
    db,
    `SELECT ${columns} FROM changes WHERE seq >> ${SHARE_BITS} = ? AND variant_id = ? AND ${condition}`,
  );
  let looked = 0;
  for (const share of shares) {
    if (looked === wanted) {
      yield { kind: 'more' };
      return;
    }
    for (const row of select.iterate(share, variantId, bound)) yield { kind: 'row', row };
    looked += 1;
  }
}

/** The parts of the feed, as `seq >> SHARE_BITS` numbers them. */
export function sharesNewestFirst(db: Db): Generator<number> {
  const { first, last } = endsOf(db);
  return sharesFrom(shareOf(last), shareOf(first), -1);
}

function* sharesFrom(start: number, end: number, step: 1 | -1): Generator<number> {
  for (let share = start; (end - share) * step >= 0; share += step) yield share;
}

/** The first and last number there is; for an empty feed, a last below the first. */
function endsOf(db: Db): { readonly first: number; readonly last: number } {
  const ends = prepared<[], { first: number | null; last: number | null }>(
    db,
    'SELECT (SELECT min(seq) FROM changes) AS first, (SELECT max(seq) FROM changes) AS last',
  ).get();
  return { first: ends?.first ?? 0, last: ends?.last ?? -1 };
}
