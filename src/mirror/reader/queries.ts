import type { Db } from '../../sqlite/open.ts';
import type * as queries from './queries.ts';

export { changesAfter, driftBefore } from '../queries/changes.ts';
export { deliveryAt, deliveryPage } from '../queries/deliveries.ts';
export { glance, notedMinutes, shownCauses } from '../queries/overview.ts';
export { heldRemovals, openReads } from '../queries/open-reads.ts';
export { findStock, warehouseIds } from '../queries/page/stock.ts';
export { variantView } from '../queries/page/variant.ts';
export { absentProducts, unreadSince } from '../queries/listed-products.ts';
export { areBundlesDue, nextReads, verificationOutlook } from '../queries/queue.ts';
export { catalogueOutlook, latestRuns, runAfterBarrier, runById, runningRuns } from '../queries/runs.ts';
export { searchFacts } from '../queries/searches.ts';
export { stateFacts } from '../queries/state-facts.ts';
export { failureOf, lag, liveCounts, stateSample, status } from '../queries/status.ts';
export { trust } from '../queries/trust.ts';
export { latestChanged, productsOfVariants, wayIn } from '../queries/way-in.ts';
export { warehouseNames } from '../file/warehouse-names.ts';
export { sellableRows, stockRows, variantRows } from '../queries/stock.ts';

type Queries = typeof queries;
export type QueryName = keyof Queries;
export type QueryArgs<N extends QueryName> = Parameters<Queries[N]> extends [Db, infer A] ? A : undefined;
export type QueryResult<N extends QueryName> = ReturnType<Queries[N]>;
