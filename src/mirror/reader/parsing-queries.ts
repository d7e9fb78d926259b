/** Queries that parse bodies or details, loaded on first use because their schemas take time and memory. */
export { deliveryAt, deliveryPage } from '../queries/deliveries.ts';
export { variantView } from '../queries/page/variant.ts';
