/** Queries that parse bodies or details. The thread starts without them: their schemas take time and memory to load. */
export { deliveryAt, deliveryPage } from '../queries/deliveries.ts';
export { variantView } from '../queries/page/variant.ts';
