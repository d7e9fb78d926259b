/** Which rows of `mirror_sellable` are not trusted (docs/http-api.md#trust). */
import type { Db } from '../../sqlite/open.ts';
import { and, isNotNull } from '../../sqlite/drizzle.ts';
import { isListed, query, select, type Params, type RowOf } from '../../sqlite/query.ts';
import { doubtfulVariants, isDistrusted, MOST_LISTED, type WhyNot } from '../file/suspicion.ts';
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

/** One statement for several variants is four times faster than one for each. */
const UNTRUSTED_OF = query((params: Params<{ idsJson: string }>) =>
  select(COLUMNS)
    .from(mirrorSellable)
    .where(and(isListed(mirrorSellable.variant_id, params.idsJson), isNotNull(mirrorSellable.why_not))),
);

type Row = Readonly<RowOf<typeof FIRST>>;
export type UntrustedRow = Row & { readonly why_not: WhyNot };

export interface TrustReport extends Readonly<RowOf<typeof SHOWN>> {
  /** No row is trusted, whatever its own grounds. */
  readonly isDistrusted: boolean;
  /** null if there are more than `MOST_LISTED`. */
  readonly untrusted: readonly UntrustedRow[] | null;
}

export function trust(db: Db): TrustReport {
  return db.transaction(() => {
    const isAll = isDistrusted(db);
    const rows = isAll ? FIRST.iterate(db) : untrustedRows(db);
    return { ...SHOWN.one(db), isDistrusted: isAll, untrusted: listOf(rows) };
  })();
}

const VARIANTS_AT_ONCE = 500;

/** Starts from the doubts, some at a time, so that neither the mirror nor a flood of doubts is read whole. */
function* untrustedRows(db: Db): Iterable<Row> {
  let some: string[] = [];
  for (const variantId of doubtfulVariants(db)) {
    some.push(variantId);
    if (some.length < VARIANTS_AT_ONCE) continue;
    yield* untrustedOf(db, some);
    some = [];
  }
  yield* untrustedOf(db, some);
}

function untrustedOf(db: Db, variantIds: readonly string[]): Iterable<Row> {
  return variantIds.length === 0 ? [] : UNTRUSTED_OF.iterate(db, { idsJson: JSON.stringify(variantIds) });
}

const isUntrusted = (row: Row): row is UntrustedRow => row.why_not !== null;

/** In the order of keys, so that two equal lists look equal. */
function listOf(rows: Iterable<Row>): readonly UntrustedRow[] | null {
  const found: UntrustedRow[] = [];
  for (const row of rows) {
    if (!isUntrusted(row)) continue;
    if (found.length === MOST_LISTED) return null;
    found.push(row);
  }
  return found.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const keyOf = ({ variant_id, warehouse_id }: Row): string => `${variant_id}/${warehouse_id ?? ''}`;
