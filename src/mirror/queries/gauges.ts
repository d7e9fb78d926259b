/**
 * The state of the mirror for metrics, alarms, plots and pages: everything in one query, whose cost grows with the
 * number of re-read requests only.
 */
import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { RunKind, RunState } from '../../core/runs.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import { inboxRows, lag, type Lag } from './inbox.ts';
import { pendingReads } from './overview.ts';
import { status, type Status } from './status.ts';

export interface StateSample {
  readonly status: Status;
  /** When the oldest re-read request that waits for its read was first recorded; null: none waits. */
  readonly oldestSuspectAtMs: number | null;
  readonly inboxRows: number;
  readonly lag: Lag;
  readonly databaseBytes: number;
  readonly walBytes: number;
  /** For a user without privileges. */
  readonly diskFreeBytes: number;
  /** Of the reader's time. */
  readonly tookMs: number;
}

export function stateSample(db: Db): StateSample {
  const beganMs = performance.now();
  const sample = db.transaction(() => ({
    status: status(db),
    oldestSuspectAtMs: pendingReads(db).oldestSuspectAtMs,
    inboxRows: inboxRows(db),
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

interface RunOutcome {
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

/** The id after which every run is still to be reported: before the oldest one under way, else the last. */
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
