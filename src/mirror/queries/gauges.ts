/** Sample for causes, metrics, plots and pages. Its cost grows only with the number of read requests. */
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
