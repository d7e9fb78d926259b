/** The change feed (docs/http-api.md#change-feed, docs/reading-the-mirror.md#following-changes). */
import type { DriftReason } from '../../core/drift-reasons.ts';
import type { Change } from '../../core/model.ts';
import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  getViewSelectedFields,
  gt,
  lt,
  max,
  min,
  ne,
  sql,
} from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { query, queryColumn, select, type Params, type RowOf } from '../../sqlite/query.ts';
import { changes, SHARE_BITS } from '../file/schema.ts';
import { mirrorChanges, mirrorStatus } from '../file/view-columns.ts';

const POSITION = query(() =>
  select({
    epoch: mirrorStatus.epoch,
    /** The last number assigned. Numbers may lack a row: a change of a name takes one too. */
    lastSeq: mirrorStatus.last_seq,
    /** The last pruned number: continuing below it would skip changes. */
    keptAfterSeq: mirrorStatus.pruned_change_seq,
  }).from(mirrorStatus),
);

const AFTER = query((params: Params<{ after: number; limit: number }>) =>
  select(getViewSelectedFields(mirrorChanges))
    .from(mirrorChanges)
    .where(gt(mirrorChanges.seq, params.after))
    .orderBy(asc(mirrorChanges.seq))
    .limit(params.limit),
);

type Standing = RowOf<typeof POSITION>;
export type ChangePosition = Pick<Standing, 'epoch' | 'lastSeq'>;
export type ChangeRow = RowOf<typeof AFTER>;

export interface FeedPage extends Standing {
  readonly changes: readonly ChangeRow[];
  readonly hasMore: boolean;
}

export function position(db: Db): Standing {
  return POSITION.one(db);
}

export function changesAfter(
  db: Db,
  args: { readonly after: number | null; readonly limit: number },
): FeedPage {
  return db.transaction(() => {
    const now = position(db);
    const found = AFTER.all(db, { after: args.after ?? now.keptAfterSeq, limit: args.limit + 1 });
    const changes = found.slice(0, args.limit);
    return { ...now, changes, hasMore: found.length > changes.length };
  })();
}

/** In index order: by reason, then by number. */
const DRIFT = query((params: Params<{ reason: DriftReason; before: number; limit: number }>) =>
  select(getViewSelectedFields(mirrorChanges))
    .from(mirrorChanges)
    .where(
      and(
        eq(mirrorChanges.source, 'read'),
        ne(mirrorChanges.reason, 'first_read'),
        eq(mirrorChanges.reason, params.reason),
        lt(mirrorChanges.seq, params.before),
      ),
    )
    .orderBy(desc(mirrorChanges.seq))
    .limit(params.limit),
);

export function driftBefore(
  db: Db,
  args: { readonly before: number; readonly reasons: readonly DriftReason[]; readonly limit: number },
): { readonly rows: readonly ChangeRow[]; readonly hasMore: boolean } {
  const { before, limit } = args;
  const found = args.reasons
    .flatMap((reason) => DRIFT.all(db, { reason, before, limit: limit + 1 }))
    .toSorted((a, b) => b.seq - a.seq);
  return { rows: found.slice(0, limit), hasMore: found.length > limit };
}

/** The expression of the feed's index. */
const SHARE = sql<number>`${changes.seq} >> ${SHARE_BITS}`;

const OF_VARIANT = query(
  (params: Params<{ share: number; variantId: string; beforeSeq: number; limit: number }>) =>
    select(getTableColumns(changes))
      .from(changes)
      .where(
        and(
          eq(SHARE, params.share),
          eq(changes.variantId, params.variantId),
          lt(changes.seq, params.beforeSeq),
        ),
      )
      .orderBy(desc(changes.seq))
      .limit(params.limit),
);

/** Newest first. A share without the variant costs a microsecond. */
export function changesOf(
  db: Db,
  args: { readonly variantId: string; readonly beforeSeq: number; readonly limit: number },
): Change[] {
  const { variantId, beforeSeq, limit } = args;
  const found: Change[] = [];
  for (const share of sharesNewestFirst(db)) {
    if (found.length === limit) break;
    found.push(...OF_VARIANT.all(db, { share, variantId, beforeSeq, limit: limit - found.length }));
  }
  return found;
}

const FIRST_SEQ = queryColumn(() => select({ seq: min(changes.seq) }).from(changes));
const LAST_SEQ = queryColumn(() => select({ seq: max(changes.seq) }).from(changes));

function* sharesNewestFirst(db: Db): Generator<number> {
  const first = FIRST_SEQ.one(db);
  const last = LAST_SEQ.one(db);
  if (first === null || last === null) return;
  for (let share = shareOf(last); share >= shareOf(first); share -= 1) yield share;
}

/** Change numbers can have more than the 32 bits of a shift. */
function shareOf(seq: number): number {
  return Math.floor(seq / 2 ** SHARE_BITS);
}
