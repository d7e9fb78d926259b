/** All queries except those that are loaded when they are asked (typed-queries.ts). */
import type { Db } from '../../sqlite/open.ts';
import { deliveryCounts } from '../queries/delivery-counts.ts';
import { stateSample } from '../queries/gauges.ts';
import { dueChores, nextReads, notMirrored, oldestEvidence, unreadSince } from '../queries/queue.ts';
import {
  absentProducts,
  catalogueOutlook,
  latestRuns,
  remainingOf,
  runById,
  runningCatalogueRun,
  runningRuns,
} from '../queries/runs.ts';
import { failureOf, lastFullSync, liveCounts, missedOnce, status, stillUnmapped } from '../queries/status.ts';
import { changesAfter, driftBefore } from '../queries/changes.ts';
import { stockRows, variantRows } from '../queries/stock.ts';
import { glance, notedMinutes, pendingReads } from '../queries/overview.ts';
import { findStock } from '../queries/page/stock.ts';

/** The queries of the ops page, except those that are loaded when they are asked (typed-queries.ts). */
const pageQueries = {
  glance,
  pendingReads,
  notedMinutes,
  findStock,
};

/** The queries of the private listener's API, except those that are loaded when they are asked (typed-queries.ts). */
const apiQueries = { stockRows, variantRows, changesAfter, driftBefore };

export const lightQueries = {
  nextReads,
  dueChores,
  unreadSince,
  notMirrored,
  oldestEvidence,
  runningRuns,
  runningCatalogueRun,
  catalogueOutlook,
  absentProducts,
  runById,
  latestRuns,
  remainingOf,
  status,
  liveCounts,
  lastFullSync,
  failureOf,
  stillUnmapped,
  missedOnce,
  ...apiQueries,
  ...pageQueries,
  stateSample,
  deliveryCounts,
} satisfies Record<string, (db: Db, args: never) => unknown>;
