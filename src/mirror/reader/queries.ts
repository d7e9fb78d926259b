import type { Db } from '../../sqlite/open.ts';
import { changesAfter, driftBefore } from '../queries/changes.ts';
import { deliveryCounts } from '../queries/delivery-counts.ts';
import { stateSample } from '../queries/gauges.ts';
import { lag } from '../queries/inbox.ts';
import { glance, notedMinutes, pendingReads } from '../queries/overview.ts';
import { search } from '../queries/page/search.ts';
import { findStock } from '../queries/page/stock.ts';
import { dueChores, nextReads, notMirrored, oldestEvidence, unreadSince } from '../queries/queue.ts';
import {
  absentProducts,
  catalogueOutlook,
  latestRuns,
  remainingOf,
  runById,
  runningRuns,
} from '../queries/runs.ts';
import { failureOf, lastFullSync, liveCounts, missedOnce, status, stillUnmapped } from '../queries/status.ts';
import { stockRows, variantRows } from '../queries/stock.ts';
import type * as parsing from './parsing-queries.ts';

export const queries = {
  absentProducts,
  catalogueOutlook,
  changesAfter,
  deliveryCounts,
  driftBefore,
  dueChores,
  failureOf,
  findStock,
  glance,
  lag,
  lastFullSync,
  latestRuns,
  liveCounts,
  missedOnce,
  nextReads,
  notedMinutes,
  notMirrored,
  oldestEvidence,
  pendingReads,
  remainingOf,
  runById,
  runningRuns,
  search,
  stateSample,
  status,
  stillUnmapped,
  stockRows,
  unreadSince,
  variantRows,
};

type Queries = typeof queries & typeof parsing;
export type QueryName = keyof Queries;
export type QueryArgs<N extends QueryName> = Parameters<Queries[N]> extends [Db, infer A] ? A : undefined;
export type QueryResult<N extends QueryName> = ReturnType<Queries[N]>;
