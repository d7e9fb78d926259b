/**
 * Figures that metrics and alarms ask for all the time: from indexes, but for the standing obligations, which the state
 * depends on, and from what the files say of their size.
 */
import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { LATEST_MS } from '../../core/limits.ts';
import type { RunKind, RunState } from '../commands.ts';
import type { Db } from '../open.ts';
import { prepared } from '../prepared.ts';
import type { Status } from './status.ts';

export interface Gauges extends Pick<
  Status,
  'state' | 'last_delivery_at' | 'last_full_sync_at' | 'oldest_verified_at' | 'open_gaps' | 'products'
> {
  readonly parked_reads: number;
  readonly failing_reads: number;
  readonly log_entries: number;
  readonly database_bytes: number;
  readonly wal_bytes: number;
  readonly disk_free_bytes: number;
}

type GaugeRow = Omit<Gauges, 'database_bytes' | 'wal_bytes' | 'disk_free_bytes'>;

// The view's dear columns are not named, and so not computed. The log is gapless.
const GAUGES = `
  SELECT state, last_delivery_at, last_full_sync_at, oldest_verified_at, open_gaps,
    (SELECT products FROM live_counts) AS products,
    (SELECT count(*) FROM given_up_reads) AS parked_reads,
    (SELECT count(*) FROM read_failures) AS failing_reads,
    coalesce((SELECT max(seq) FROM log) - (SELECT min(seq) FROM log) + 1, 0) AS log_entries
  FROM mirror_status`;

export function gauges(db: Db): Gauges {
  const row = prepared<[], GaugeRow>(db, GAUGES).get();
  if (row === undefined) throw new Error('mirror_status has no row');
  const pages = db.pragma('page_count', { simple: true }) as number;
  const pageBytes = db.pragma('page_size', { simple: true }) as number;
  const { bavail, bsize } = statfsSync(dirname(db.name));
  return {
    ...row,
    database_bytes: pages * pageBytes,
    wal_bytes: statSync(`${db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    disk_free_bytes: bavail * bsize,
  };
}

export type Doubts = Pick<Status, 'pending_reads' | 'suspect_count' | 'held_removals'>;

/** Costs in proportion to what is in doubt, which after a downtime is everything: to be asked rarely then. */
export function doubts(db: Db): Doubts {
  const row = prepared<[], Omit<Doubts, 'held_removals'>>(
    db,
    'SELECT pending_reads, suspect_count FROM mirror_status',
  ).get();
  if (row === undefined) throw new Error('mirror_status has no row');
  const held = prepared<[number], number>(db, 'SELECT count(*) FROM obligations WHERE not_before_ms = ?');
  return { ...row, held_removals: held.pluck().get(LATEST_MS) ?? 0 };
}

export interface RunOutcome {
  readonly id: number;
  readonly kind: RunKind;
  readonly state: RunState;
}

/** Runs younger than `afterId`, oldest first. */
export function runOutcomes(db: Db, args: { readonly afterId: number }): RunOutcome[] {
  return prepared<[number], RunOutcome>(
    db,
    'SELECT id, kind, state FROM runs WHERE id > ? ORDER BY id LIMIT 1000',
  ).all(args.afterId);
}

/** The id after which every run is still to be told of: before the oldest one under way, else the last. */
export function runOutcomesStart(db: Db): number {
  return (
    prepared<[], number>(
      db,
      `SELECT coalesce(
         (SELECT min(id) - 1 FROM runs WHERE state = 'running'),
         (SELECT max(id) FROM runs), 0)`,
    )
      .pluck()
      .get() ?? 0
  );
}
