/** All queries except those that are loaded when they are asked (typed.ts). */
import type { Db } from '../open.ts';
import { deliveryCounts } from './delivery-counts.ts';
import { runOutcomes, runOutcomesStart, stateSample } from './gauges.ts';
import { apiQueries } from './api.ts';
import { lag } from './lag.ts';
import { pageQueries } from './page.ts';
import { dueChores, nextReads, notMirrored, scheduledReads, unreadSince } from './queue.ts';
import {
  absentProducts,
  latestRuns,
  remainingOf,
  runById,
  runningCatalogueRun,
  runningRuns,
} from './runs.ts';
import {
  failureOf,
  isPrunable,
  lastFullSync,
  liveCounts,
  missedOnce,
  stateCause,
  status,
  stillUnmapped,
} from './status.ts';

export const lightQueries = {
  nextReads,
  dueChores,
  unreadSince,
  notMirrored,
  scheduledReads,
  runningRuns,
  runningCatalogueRun,
  absentProducts,
  runById,
  latestRuns,
  remainingOf,
  status,
  stateCause,
  lag,
  liveCounts,
  lastFullSync,
  failureOf,
  isPrunable,
  stillUnmapped,
  missedOnce,
  ...apiQueries,
  ...pageQueries,
  stateSample,
  runOutcomes,
  runOutcomesStart,
  deliveryCounts,
} satisfies Record<string, (db: Db, args: never) => unknown>;
