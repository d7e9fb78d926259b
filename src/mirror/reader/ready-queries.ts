export { changesAfter, driftBefore } from '../queries/changes.ts';
export { deliveryCounts } from '../queries/delivery-counts.ts';
export { stateSample } from '../queries/gauges.ts';
export { lag } from '../queries/inbox.ts';
export { glance, notedMinutes, pendingReads } from '../queries/overview.ts';
export { search } from '../queries/page/search.ts';
export { findStock } from '../queries/page/stock.ts';
export { dueChores, nextReads, notMirrored, oldestEvidence, unreadSince } from '../queries/queue.ts';
export {
  absentProducts,
  catalogueOutlook,
  latestRuns,
  remainingOf,
  runById,
  runningRuns,
} from '../queries/runs.ts';
export { failureOf, lastFullSync, liveCounts, missedOnce, status, stillUnmapped } from '../queries/status.ts';
export { stockRows, variantRows } from '../queries/stock.ts';
