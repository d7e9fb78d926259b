/** The mirror's state at a glance. */
import { LATEST_MS } from '../../core/limits.ts';
import type { Db } from '../open.ts';
import { prepared } from '../prepared.ts';

/** The row of the public view `mirror_status`, and what the operator needs besides. */
export interface Status {
  readonly epoch: string;
  readonly schema_version: number;
  readonly state: 'live' | 'catching_up' | 'stale';
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
  readonly cells: number;
  /** Products whose reads the store refuses, or that failed too often. */
  readonly parked_reads: number;
  /** Products whose last read failed, the parked ones included. */
  readonly failing_reads: number;
  /** What went wrong with the latest of these. */
  readonly last_read_error: string | null;
  /** Products that the mass-removal guard holds. */
  readonly held_removals: number;
  readonly quarantined: number;
}

export type LiveCounts = Pick<Status, 'products' | 'variants' | 'cells'>;

/** Kept, not counted. */
export function liveCounts(db: Db): LiveCounts {
  const live = prepared<[], LiveCounts>(db, 'SELECT products, variants, cells FROM live_counts').get();
  if (live === undefined)
    throw new Error('live_counts has no row: the database was changed by another program');
  return live;
}

/** From indexes and kept counts: the cost grows with the open re-read requests, not with the mirror. */
export function status(db: Db): Status {
  const row = prepared<[], Status>(db, 'SELECT * FROM mirror_status').get();
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
    held_removals: count('SELECT count(*) FROM obligations WHERE not_before_ms = ?', LATEST_MS),
    // Given out one after the other, and pruned from the oldest on.
    quarantined: count(
      'SELECT coalesce((SELECT max(id) FROM quarantine) - (SELECT min(id) FROM quarantine) + 1, 0)',
    ),
  };
}

/** What a start needs to know of the mirror's previous run. */
export function lastLife(db: Db): {
  readonly aliveAtMs: number | null;
  readonly lastFullSyncAtMs: number | null;
  readonly lastLogAtMs: number | null;
  /** When the latest unfinished run began. */
  readonly lastRunAtMs: number | null;
} {
  const row = prepared<[], { aliveAtMs: number | null; lastFullSyncAtMs: number | null }>(
    db,
    'SELECT alive_at_ms AS aliveAtMs, last_full_sync_at_ms AS lastFullSyncAtMs FROM service_state',
  ).get();
  const lastLogAtMs =
    prepared<[], number>(db, 'SELECT at_ms FROM log ORDER BY seq DESC LIMIT 1').pluck().get() ?? null;
  return {
    aliveAtMs: row?.aliveAtMs ?? null,
    lastFullSyncAtMs: row?.lastFullSyncAtMs ?? null,
    lastLogAtMs,
    lastRunAtMs:
      prepared<[], number | null>(db, `SELECT max(started_at_ms) FROM runs WHERE state = 'running'`)
        .pluck()
        .get() ?? null,
  };
}

export function failureOf(
  db: Db,
  args: { readonly productId: string },
): { readonly attempts: number } | null {
  return (
    prepared<[string], { attempts: number }>(
      db,
      'SELECT attempts FROM read_failures WHERE product_id = ?',
    ).get(args.productId) ?? null
  );
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
