/**
 * Goes through rows in the order of their key, a bounded number at a time, for the lists that people and programs
 * page through.
 */

interface Portion<R> {
  readonly rows: R[];
  /** The last row that was looked at, kept or not: the next call continues after it. Null: there was none. */
  readonly last: R | null;
  readonly hasMore: boolean;
}

/** Rows looked at in one call, so that a filter that keeps few of many never holds the reader up. */
const LOOK_AT = 5_000;

/**
 * @param rows a statement's rows, lazily: rows that are not looked at are not computed.
 * @param isEnough what is kept so far is as much as may be, whatever its number.
 */
export function takePortion<R>(
  rows: Iterable<R>,
  {
    limit,
    keep = () => true,
    isEnough = () => false,
    lookAt = LOOK_AT,
  }: { limit: number; keep?: (row: R) => boolean; isEnough?: () => boolean; lookAt?: number },
): Portion<R> {
  const kept: R[] = [];
  let last: R | null = null;
  let looked = 0;
  for (const row of rows) {
    if (kept.length === limit || looked === lookAt || isEnough()) return { rows: kept, last, hasMore: true };
    looked += 1;
    last = row;
    if (keep(row)) kept.push(row);
  }
  return { rows: kept, last, hasMore: false };
}
