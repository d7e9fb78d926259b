/** The queries of the private listener's API, except those that are loaded when they are asked (typed.ts). */
import { changesAfter, driftBefore } from './changes.ts';
import { stockRows, variantRows } from './stock.ts';

export const apiQueries = { stockRows, variantRows, changesAfter, driftBefore };
