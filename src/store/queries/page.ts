/** What the ops page asks for. */
import { deliveryAt, deliveryPage, quarantinedItems } from './page-deliveries.ts';
import { corrections } from './page-drift.ts';
import { glance, loggedMinutes, owedReads } from './page-overview.ts';
import { findStock } from './page-stock.ts';
import { variantView } from './page-variant.ts';

export const pageQueries = {
  glance,
  owedReads,
  loggedMinutes,
  findStock,
  variantView,
  corrections,
  deliveryPage,
  deliveryAt,
  quarantinedItems,
};
