/** Which rows of `mirror_sellable` are not trusted (docs/http-api.md#trust). */
import type { Db } from '../../sqlite/open.ts';
import { isListed, query, select, type Params, type RowOf } from '../../sqlite/query.ts';
import { MOST_LISTED, type WhyNot } from '../file/suspicion.ts';
import { mirrorSellable, mirrorStatus } from '../file/view-columns.ts';
import { sellable, suspects } from './suspects.ts';

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

const ALL = query(() => select(COLUMNS).from(mirrorSellable));

/** One statement for several variants is four times faster than one for each. */
const OF_VARIANTS = query((params: Params<{ idsJson: string }>) =>
  select(COLUMNS).from(mirrorSellable).where(isListed(mirrorSellable.variant_id, params.idsJson)),
);

type Row = Readonly<RowOf<typeof ALL>>;
export type UntrustedRow = Row & { readonly why_not: WhyNot };

export interface TrustReport extends Readonly<RowOf<typeof SHOWN>> {
  /** null if there are more than `MOST_LISTED`. */
  readonly untrusted: readonly UntrustedRow[] | null;
  /** null if there are more than `MOST_COUNTED`. */
  readonly untrusted_count: number | null;
}

/** The cost grows with the number of suspect rows, up to `MOST_COUNTED`, not with the mirror. */
export function trust(db: Db): TrustReport {
  return db.transaction(() => {
    const suspect = suspects(db);
    const { total, trusted } = sellable(db, suspect);
    const count = trusted === null ? null : total - trusted;
    const isListed = count !== null && count <= MOST_LISTED;
    return {
      ...SHOWN.one(db),
      untrusted: isListed ? untrustedOf(trusted === 0 ? ALL.all(db) : rowsOf(db, suspect)) : null,
      untrusted_count: count,
    };
  })();
}

function rowsOf(db: Db, suspect: ReturnType<typeof suspects>): readonly Row[] {
  return OF_VARIANTS.all(db, { idsJson: JSON.stringify([...(suspect?.variantIds ?? [])]) });
}

const isUntrusted = (row: Row): row is UntrustedRow => row.why_not !== null;
const keyOf = ({ variant_id, warehouse_id }: Row): string => `${variant_id}/${warehouse_id ?? ''}`;

/** In the order of keys, so that two equal lists look equal. */
function untrustedOf(rows: readonly Row[]): readonly UntrustedRow[] {
  return rows.filter(isUntrusted).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
