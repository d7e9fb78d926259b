import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Db } from '../../sqlite/open.ts';
import { column, onlyRow, prepared } from '../../sqlite/prepared.ts';
import type { MirrorState } from '../file/state.ts';

export interface Status {
  readonly epoch: string;
  readonly schema_version: number;
  readonly state: MirrorState;
  readonly state_cause: string | null;
  readonly last_delivery_at: number | null;
  /** When a webhook of the store was last accepted. */
  readonly last_accepted_at: number | null;
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
  readonly parked_reads: number;
  readonly failing_reads: number;
  readonly last_read_error: string | null;
  /** Products held by the mass-removal guard, whole or in part. */
  readonly held_removals: number;
  readonly dead_letters: number;
}

type LiveCounts = Pick<Status, 'products' | 'variants' | 'levels'>;

export function liveCounts(db: Db): LiveCounts {
  return onlyRow(prepared<[], LiveCounts>(db, 'SELECT products, variants, levels FROM live_counts'));
}

const STATUS = 'SELECT *, (SELECT accepted_at_ms FROM service_state) AS last_accepted_at FROM mirror_status';

/** From indexes and maintained counts: the cost grows with the read requests, not with the mirror. */
export function status(db: Db): Status {
  const count = (sql: string): number => column<[], number>(db, sql).get() ?? 0;
  return {
    ...onlyRow(prepared<[], Status>(db, STATUS)),
    ...liveCounts(db),
    parked_reads: count('SELECT count(*) FROM due_reads WHERE given_up = 1 AND failed_at_ms IS NOT NULL'),
    failing_reads: count('SELECT count(*) FROM due_reads WHERE failed_at_ms IS NOT NULL'),
    last_read_error:
      column<[], string>(
        db,
        'SELECT last_error FROM due_reads WHERE failed_at_ms IS NOT NULL ORDER BY failed_at_ms DESC LIMIT 1',
      ).get() ?? null,
    held_removals: count('SELECT count(*) FROM due_reads WHERE held = 1'),
    // Ids are consecutive (src/mirror/writer/commands.ts).
    dead_letters: count(
      'SELECT coalesce((SELECT max(id) FROM dead_letters) - (SELECT min(id) FROM dead_letters) + 1, 0)',
    ),
  };
}

export interface Lag {
  readonly deliveries: number;
  /** Arrival of the first; null if there is none. */
  readonly sinceMs: number | null;
}

const LAG = `
  SELECT
    max(0, coalesce((SELECT max(seq) FROM inbox), 0) - inbox_seq) AS deliveries,
    (SELECT arrived_at_ms FROM inbox WHERE seq > inbox_seq ORDER BY seq LIMIT 1) AS sinceMs
  FROM mirror_state`;

export function lag(db: Db): Lag {
  return onlyRow(prepared<[], Lag>(db, LAG));
}

/** Sample for causes, metrics, plots and pages. */
export interface StateSample {
  readonly status: Status;
  readonly lag: Lag;
  readonly databaseBytes: number;
  readonly walBytes: number;
  readonly diskFreeBytes: number;
  readonly tookMs: number;
}

export function stateSample(db: Db): StateSample {
  const beganMs = performance.now();
  const sample = db.transaction(() => ({
    status: status(db),
    lag: lag(db),
    databaseBytes: pragma(db, 'page_count') * pragma(db, 'page_size'),
  }))();
  const { bavail, bsize } = statfsSync(dirname(db.name));
  return {
    ...sample,
    walBytes: statSync(`${db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    diskFreeBytes: bavail * bsize,
    tookMs: performance.now() - beganMs,
  };
}

function pragma(db: Db, name: 'page_count' | 'page_size'): number {
  return db.pragma(name, { simple: true }) as number;
}

export function lastFullSync(db: Db): number | null {
  return column<[], number | null>(db, 'SELECT last_full_sync_at_ms FROM service_state').get() ?? null;
}

interface FailedReads {
  readonly attempts: number;
  readonly faults: number;
  readonly failedAtMs: number | null;
  readonly isGivenUp: boolean;
}

export function failureOf(db: Db, { productId }: { readonly productId: string }): FailedReads {
  const sql = `
    SELECT attempts, faults, failed_at_ms AS failedAtMs, given_up AS isGivenUp
    FROM due_reads WHERE product_id = ?`;
  type Row = Omit<FailedReads, 'isGivenUp'> & { readonly isGivenUp: number };
  const found = prepared<[string], Row>(db, sql).get(productId);
  return { attempts: 0, faults: 0, failedAtMs: null, ...found, isGivenUp: found?.isGivenUp === 1 };
}
