/** The change feed and its position (docs/http-api.md#change-feed, docs/reading-the-mirror.md#following-changes). */
import type { DriftCause } from '../../core/causes.ts';
import type { Source } from '../../core/model.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';

/** A row of the public view `mirror_changes`. */
export interface ChangeRow {
  readonly seq: number;
  readonly variant_id: string;
  readonly warehouse_id: string | null;
  readonly sku: string | null;
  readonly old_qty: number | null;
  readonly new_qty: number | null;
  readonly source: Source;
  readonly reason: string | null;
  readonly order_id: string | null;
  readonly user_id: string | null;
  readonly update_time: number | null;
  readonly recorded_at: number;
  readonly request_id: string | null;
  readonly delta: number | null;
  readonly product_name: string | null;
  readonly variant_name: string | null;
  readonly warehouse_name: string | null;
}

export interface Position {
  readonly epoch: string;
  /** The last number given out. Not each number has a row: a change of a name takes one too. */
  readonly lastSeq: number;
}

export interface FeedPage extends Position {
  readonly changes: readonly ChangeRow[];
  readonly hasMore: boolean;
  /** The last pruned number: to continue from anything below would skip some. */
  readonly keptAfterSeq: number;
}

type Standing = Position & Pick<FeedPage, 'keptAfterSeq'>;

export function position(db: Db): Standing {
  const found = prepared<[], Standing>(
    db,
    `SELECT s.epoch AS epoch, m.change_seq AS lastSeq, s.pruned_change_seq AS keptAfterSeq
       FROM service_state s, mirror_state m`,
  ).get();
  if (found === undefined)
    throw new Error('service_state has no row: the database was changed by another program');
  return found;
}

/**
 * Changes with numbers above `after`, in their order, all as of one moment.
 * @param args.after null: from the oldest kept.
 * @param args.sku only those of this SKU, as it was then; null: all. The whole feed is looked through for it, since a
 *   variant may have had another SKU: SQLite compares, and only what is found gets its names.
 */
export function changesAfter(
  db: Db,
  args: {
    readonly after: number | null;
    readonly limit: number;
    readonly sku?: string | null;
  },
): FeedPage {
  return db.transaction(() => {
    const now = position(db);
    const { sku = null } = args;
    const found = prepared<(string | number)[], ChangeRow>(
      db,
      `SELECT * FROM mirror_changes WHERE seq > ? ${sku === null ? '' : 'AND sku = ?'} ORDER BY seq LIMIT ?`,
    ).all(args.after ?? now.keptAfterSeq, ...(sku === null ? [] : [sku]), args.limit + 1);
    const changes = found.slice(0, args.limit);
    return { ...now, changes, hasMore: found.length > changes.length };
  })();
}

/** The last ones, the oldest of them first. @param args.sku as above. */
export function lastChanges(
  db: Db,
  { limit, sku }: { readonly limit: number; readonly sku: string | null },
): FeedPage {
  return db.transaction(() => {
    const found = prepared<(string | number)[], ChangeRow>(
      db,
      `SELECT * FROM mirror_changes ${sku === null ? '' : 'WHERE sku = ?'} ORDER BY seq DESC LIMIT ?`,
    ).all(...(sku === null ? [] : [sku]), limit);
    const now = position(db);
    return { ...now, changes: found.toReversed(), hasMore: false };
  })();
}

// In the order of the index: by reason, then by number.
const DRIFT = `
  SELECT * FROM mirror_changes
  WHERE source = 'read' AND reason <> 'first_read' AND reason = ? AND seq < ? ORDER BY seq DESC LIMIT ?`;

/** Differences that reads found, the latest first, before `before`. */
export function driftBefore(
  db: Db,
  args: { readonly before: number; readonly reasons: readonly DriftCause[]; readonly limit: number },
): { readonly rows: readonly ChangeRow[]; readonly hasMore: boolean } {
  const found = args.reasons
    .flatMap((reason) =>
      prepared<[string, number, number], ChangeRow>(db, DRIFT).all(reason, args.before, args.limit + 1),
    )
    .toSorted((a, b) => b.seq - a.seq);
  return { rows: found.slice(0, args.limit), hasMore: found.length > args.limit };
}
