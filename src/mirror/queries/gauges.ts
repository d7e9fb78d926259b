/**
 * The state of the mirror for causes, metrics, plots and pages: everything in one query, whose cost grows with the
 * number of re-read requests only.
 */
import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Db } from '../../sqlite/open.ts';
import { lag, type Lag } from './inbox.ts';
import { status, type Status } from './status.ts';

export interface StateSample {
  readonly status: Status;
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
