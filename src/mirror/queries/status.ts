/** The mirror's state at a glance. */
import { LATEST_MS } from '../../core/limits.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import type { MirrorState, StateCause } from '../file/state.ts';

/** The row of the public view `mirror_status`, and what the operator needs besides. */
export interface Status {
  readonly epoch: string;
  readonly schema_version: number;
  readonly state: MirrorState;
  /** The most urgent cause that the file shows; null: the mirror is live. */
  readonly state_cause: StateCause | null;
  readonly last_delivery_at: number | null;
  readonly last_full_sync_at: number | null;
  readonly oldest_verified_at: number | null;
  readonly pending_reads: number;
  readonly suspect_count: number;
  readonly open_gaps: number;
  readonly last_seq: number;
  readonly alive_at: number | null;
  readonly products: number;
  readonly variants: number;
  readonly levels: number;
  /** Products whose reads the store refuses, or that failed too often. */
  readonly parked_reads: number;
  /** Products whose last read failed, the parked ones included. */
  readonly failing_reads: number;
  /** What went wrong with the latest of these. */
  readonly last_read_error: string | null;
  /** Products that the mass-removal guard keeps, whole or in part. */
  readonly held_removals: number;
  readonly dead_letters: number;
}

type LiveCounts = Pick<Status, 'products' | 'variants' | 'levels'>;

/** Kept, not counted. */
export function liveCounts(db: Db): LiveCounts {
  const live = prepared<[], LiveCounts>(db, 'SELECT products, variants, levels FROM live_counts').get();
  if (live === undefined)
    throw new Error('live_counts has no row: the database was changed by another program');
  return live;
}

/** From indexes and kept counts: the cost grows with the open re-read requests, not with the mirror. */
export function status(db: Db): Status {
  const row = prepared<[], Status>(
    db,
    'SELECT *, (SELECT cause FROM state_cause) AS state_cause FROM mirror_status',
  ).get();
  if (row === undefined)
    throw new Error('mirror_status has no row: the database was changed by another program');
  const count = (sql: string, ...args: unknown[]): number =>
    prepared<unknown[], number>(db, sql)
      .pluck()
      .get(...args) ?? 0;
  return {
    ...row,
    ...liveCounts(db),
    parked_reads: count('SELECT count(*) FROM given_up_reads'),
    failing_reads: count('SELECT count(*) FROM read_failures'),
    last_read_error:
      prepared<[], string>(db, 'SELECT error FROM read_failures ORDER BY failed_at_ms DESC LIMIT 1')
        .pluck()
        .get() ?? null,
    held_removals: count('SELECT count(*) FROM read_requests WHERE not_before_ms = ?', LATEST_MS),
    // Given out one after the other, and pruned from the oldest on.
    dead_letters: count(
      'SELECT coalesce((SELECT max(id) FROM dead_letters) - (SELECT min(id) FROM dead_letters) + 1, 0)',
    ),
  };
}

/** When the catalogue was last read whole in this epoch; null: never. */
export function lastFullSync(db: Db): number | null {
  return (
    prepared<[], number | null>(db, 'SELECT last_full_sync_at_ms FROM service_state').pluck().get() ?? null
  );
}

interface FailedReads {
  readonly attempts: number;
  readonly faults: number;
  /** Null: the last read did not fail. */
  readonly failedAtMs: number | null;
  readonly isGivenUp: boolean;
}

export function failureOf(db: Db, { productId }: { readonly productId: string }): FailedReads {
  const failure = prepared<[string], Omit<FailedReads, 'isGivenUp'>>(
    db,
    'SELECT attempts, faults, failed_at_ms AS failedAtMs FROM read_failures WHERE product_id = ?',
  ).get(productId) ?? { attempts: 0, faults: 0, failedAtMs: null };
  const isGivenUp =
    prepared<[string]>(db, 'SELECT 1 FROM given_up_reads WHERE product_id = ?').get(productId) !== undefined;
  return { ...failure, isGivenUp };
}

/** Those of these variants whose product is still unknown. */
export function stillUnmapped(db: Db, args: { readonly variantIds: readonly string[] }): string[] {
  return prepared<[string], string>(
    db,
    `SELECT v.variant_id FROM json_each(?) l JOIN variants v ON v.variant_id = l.value
       WHERE v.lookup_at_ms IS NOT NULL`,
  )
    .pluck()
    .all(JSON.stringify(args.variantIds));
}

/** Which of these variants no catalogue scan has shown, so that a second one is due. */
export function missedOnce(db: Db, args: { readonly variantIds: readonly string[] }): string[] {
  return prepared<[string], string>(
    db,
    `SELECT v.variant_id FROM json_each(?) l JOIN variants v ON v.variant_id = l.value
       WHERE v.lookup_at_ms IS NOT NULL AND v.missing_at_ms IS NOT NULL`,
  )
    .pluck()
    .all(JSON.stringify(args.variantIds));
}
