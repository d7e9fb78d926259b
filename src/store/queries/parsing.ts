/**
 * Questions that bodies or details must be parsed for. Loaded with the first of them: what that takes in memory is
 * spared a mirror that nobody looks into.
 */
import { deliveriesBefore } from './deliveries.ts';
import { deliveryAt, deliveryPage, quarantinedItems } from './page-deliveries.ts';
import { variantView } from './page-variant.ts';

export const parsingQueries = { deliveriesBefore, deliveryPage, deliveryAt, quarantinedItems, variantView };
