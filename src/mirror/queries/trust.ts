/** Which rows of `mirror_sellable` are not trusted (docs/http-api.md#trust). */
import type { Db } from '../../sqlite/open.ts';
import { isListed, query, select, type Params, type RowOf } from '../../sqlite/query.ts';
import { fewSuspects, isDistrusted, MOST_LISTED, type WhyNot } from '../file/suspicion.ts';
import { mirrorSellable, mirrorStatus } from '../file/view-columns.ts';

const SHOWN = query(() =>
  select({
    state: mirrorStatus.state,
    cause: mirrorStatus.state_cause,
    /** Holds for a copy that has all changes up to this number. */
    last_seq: mirrorStatus.last_seq,
  }).from(mirrorStatus),
);

const COLUMNS = {
  variant_id: mirrorSellable.variant_id,
  warehouse_id: mirrorSellable.warehouse_id,
  why_not: mirrorSellable.why_not,
};

const FIRST = query(() =>
  select(COLUMNS)
    .from(mirrorSellable)
    .limit(MOST_LISTED + 1),
);

/** One statement for all variants is four times faster than one for each. */
const OF_VARIANTS = query((params: Params<{ idsJson: string }>) =>
  select(COLUMNS).from(mirrorSellable).where(isListed(mirrorSellable.variant_id, params.idsJson)),
);

type Row = Readonly<RowOf<typeof FIRST>>;
export type UntrustedRow = Row & { readonly why_not: WhyNot };

export interface TrustReport extends Readonly<RowOf<typeof SHOWN>> {
  /** No row is trusted, whatever its own grounds. */
  readonly isDistrusted: boolean;
  /** null if there are more than `MOST_LISTED`. */
  readonly untrusted: readonly UntrustedRow[] | null;
}

const isUntrusted = (row: Row): row is UntrustedRow => row.why_not !== null;

/** Starts from the grounds, so that the cost grows with the doubts, not with the mirror. */
export function trust(db: Db): TrustReport {
  return db.transaction(() => {
    const shown = SHOWN.one(db);
    const isAll = isDistrusted(db);
    const rows = isAll ? FIRST.all(db) : doubtful(db);
    return { ...shown, isDistrusted: isAll, untrusted: untrustedOf(rows) };
  })();
}

/** @returns null if there may be too many. */
function doubtful(db: Db): Iterable<Row> | null {
  const variantIds = fewSuspects(db);
  return variantIds && OF_VARIANTS.iterate(db, { idsJson: JSON.stringify(variantIds) });
}

function untrustedOf(rows: Iterable<Row> | null): readonly UntrustedRow[] | null {
  if (rows === null) return null;
  const found: UntrustedRow[] = [];
  for (const row of rows) {
    if (!isUntrusted(row)) continue;
    if (found.length === MOST_LISTED) return null;
    found.push(row);
  }
  return found;
}
