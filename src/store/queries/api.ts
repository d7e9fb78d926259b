/** The queries of the private listener's API, except those that must parse (parsing.ts). */
import { changesAfter, driftBefore } from './changes.ts';
import { stockRows, variantRows } from './stock.ts';

export const apiQueries = { stockRows, variantRows, changesAfter, driftBefore };
