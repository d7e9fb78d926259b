/**
 * Queries that must parse bodies or details. Loaded with the first of them: a mirror whose page is not opened is
 * spared the memory.
 */
import { deliveriesBefore } from './deliveries.ts';
import { deliveryAt, deliveryPage } from './page-deliveries.ts';
import { variantView } from './page-variant.ts';

export const parsingQueries = { deliveriesBefore, deliveryPage, deliveryAt, variantView };
