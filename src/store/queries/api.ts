/** What the private listener's API asks. */
import { changesAfter, driftBefore } from './changes.ts';
import { deliveriesBefore } from './deliveries.ts';
import { stockRows, variantRows } from './stock.ts';

export const apiQueries = { stockRows, variantRows, changesAfter, driftBefore, deliveriesBefore };
