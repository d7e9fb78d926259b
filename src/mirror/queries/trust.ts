/** Which rows of `mirror_sellable` are not trusted (docs/http-api.md#trust). */
import type { Db } from '../../sqlite/open.ts';
import { onlyRow, prepared } from '../../sqlite/prepared.ts';
import type { MirrorState } from '../file/state.ts';
import { fewSuspects, isDistrusted, type WhyNot } from '../file/suspicion.ts';

export interface UntrustedRow {
  readonly variant_id: string;
  readonly warehouse_id: string | null;
  readonly why_not: WhyNot;
}

export interface TrustReport {
  readonly state: MirrorState;
  readonly cause: string | null;
  /** No row is trusted, whatever its own grounds. */
  readonly isDistrusted: boolean;
  /** Holds for a copy that has all changes up to this number. */
  readonly last_seq: number;
  /** null if there are more than `MOST_LISTED`. */
  readonly untrusted: readonly UntrustedRow[] | null;
}

/** A consumer can replace its list of so many at once. */
export const MOST_LISTED = 1_000;

const COLUMNS = 'variant_id, warehouse_id, why_not';

/** Starts from the grounds, so that the cost grows with the doubts, not with the mirror. */
export function trust(db: Db): TrustReport {
  return db.transaction(() => {
    const sql = 'SELECT state, state_cause AS cause, last_seq FROM mirror_status';
    const shown = onlyRow(prepared<[], Omit<TrustReport, 'isDistrusted' | 'untrusted'>>(db, sql));
    const isAll = isDistrusted(db);
    return { ...shown, isDistrusted: isAll, untrusted: isAll ? everyRow(db) : doubtfulRows(db) };
  })();
}

function everyRow(db: Db): readonly UntrustedRow[] | null {
  const sql = `SELECT ${COLUMNS} FROM mirror_sellable LIMIT ${MOST_LISTED + 1}`;
  const found = prepared<[], UntrustedRow>(db, sql).all();
  return found.length > MOST_LISTED ? null : found;
}

function doubtfulRows(db: Db): readonly UntrustedRow[] | null {
  const variantIds = fewSuspects(db);
  if (variantIds === null) return null;
  // One statement for all is four times faster than one for each variant.
  const rowsOf = prepared<[string], Omit<UntrustedRow, 'why_not'> & { readonly why_not: WhyNot | null }>(
    db,
    `SELECT ${COLUMNS} FROM mirror_sellable WHERE variant_id IN (SELECT value FROM json_each(?))`,
  );
  const found: UntrustedRow[] = [];
  for (const { why_not: why, ...row } of rowsOf.iterate(JSON.stringify(variantIds))) {
    if (why === null) continue;
    if (found.length === MOST_LISTED) return null;
    found.push({ ...row, why_not: why });
  }
  return found;
}
