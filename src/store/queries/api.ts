/** What the private listener's API asks, but for what must be parsed (parsing.ts). */
import { changesAfter, driftBefore } from './changes.ts';
import { stockRows, variantRows } from './stock.ts';

export const apiQueries = { stockRows, variantRows, changesAfter, driftBefore };
