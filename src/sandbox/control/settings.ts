import { z } from 'zod';
import { shippingTypes } from '../../store-api/contract/order-schemas.ts';
import type { Courier } from '../orders/courier.ts';
import type { Network } from '../network/network.ts';

/** Body of `POST /sandbox/settings`: the store owner's settings of the app. Omitted fields keep their values. */
export const settingsSchema = z.strictObject({
  /** Empty: no webhooks, regardless of the switches. */
  webhook_url: z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).optional(),
  /** One switch per event; off stops its delivery and keeps the URL. */
  events: z.strictObject({ stock_available_updated: z.boolean().optional() }).optional(),
  /** The couriers for which booking is set up. */
  couriers: z.array(z.enum(shippingTypes)).optional(),
  booking_delay_ms: z.int().min(0).max(3_600_000).optional(),
});

interface Configured {
  readonly network: Network;
  readonly courier: Courier;
}

export function readSettings({ network, courier }: Configured): z.output<typeof settingsSchema> {
  return {
    webhook_url: network.webhookUrl ?? '',
    events: { stock_available_updated: network.enabled },
    couriers: [...courier.bookable],
    booking_delay_ms: courier.bookingDelayMs,
  };
}

export function changeSettings(
  { network, courier }: Configured,
  settings: z.output<typeof settingsSchema>,
): void {
  network.webhookUrl = settings.webhook_url ?? network.webhookUrl;
  network.enabled = settings.events?.stock_available_updated ?? network.enabled;
  if (settings.couriers) courier.bookable = new Set(settings.couriers);
  courier.bookingDelayMs = settings.booking_delay_ms ?? courier.bookingDelayMs;
}
