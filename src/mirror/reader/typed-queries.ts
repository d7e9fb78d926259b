/**
 * Queries that drizzle puts together (sqlite/typed.ts); some of them parse bodies or details besides. Loaded with the first of
 * them: a mirror that nobody looks into is spared the memory.
 *
 * The others, and `search`, are written in SQL: because they run from the start on or all the time (queue, runs, status, gauges), because
 * they ask the public views for the columns that these promise (changes, stock), or because they follow an index by values of
 * a row, by lists in JSON or by parts of the feed, which drizzle could only carry as text (page/stock, page/suspects,
 * suspect-grounds, page/effects, variant-changes, delivery-counts).
 */
import { deliveryAt, deliveryPage, lag } from '../queries/inbox.ts';
import { search } from '../queries/page/search.ts';
import { variantView } from '../queries/page/variant.ts';

export const typedQueries = {
  lag,
  deliveryPage,
  deliveryAt,
  search,
  variantView,
};
