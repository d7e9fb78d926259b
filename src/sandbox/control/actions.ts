/** The actions of programs and of the page on the store. */
import { z } from 'zod';
import { idSchema } from '../../store-api/contract/schemas.ts';
import type { Loss } from '../network/losses.ts';
import type { Store } from '../store.ts';
import { faultsSchema, ms, readFaults, setFaults } from './faults.ts';

interface Action<Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema;
  /** The answer to `GET`, and to `POST` if `run` returns nothing. */
  readonly show?: (store: Store) => Record<string, unknown>;
  run(this: void, store: Store, body: z.output<Schema>): object | void;
}

const action = <Schema extends z.ZodObject>(of: Action<Schema>): Action => of;

const qty = z.int().optional();

export const ACTIONS = {
  faults: action({ schema: faultsSchema, show: readFaults, run: setFaults }),
  traffic: action({
    schema: z.strictObject({
      rate: z.number().min(0).max(10_000).describe('stock changes per second; 0 stops'),
      structural: z.boolean().optional().describe('also add and delete products'),
    }),
    show: ({ traffic: { rate, structural } }) => ({ rate, structural }),
    run: ({ traffic }, { rate, structural = traffic.structural }) => {
      traffic.structural = structural;
      traffic.start(rate);
    },
  }),
  settings: action({
    schema: z.strictObject({
      webhook_url: z
        .union([z.literal(''), z.url({ protocol: /^https?$/ })])
        .optional()
        .describe('webhook URL; empty for none'),
      events: z
        .strictObject({
          stock_available_updated: z.boolean().optional().describe('send stock_available_updated'),
        })
        .optional(),
      booking_delay_ms: ms.optional().describe('from ready-to-ship to shipment, ms'),
    }),
    show: ({ courier, network }) => ({
      webhook_url: network.webhookUrl ?? '',
      events: { stock_available_updated: network.enabled },
      booking_delay_ms: courier.bookingDelayMs,
    }),
    run: ({ courier, network }, settings) => {
      network.webhookUrl = settings.webhook_url ?? network.webhookUrl;
      network.enabled = settings.events?.stock_available_updated ?? network.enabled;
      courier.bookingDelayMs = settings.booking_delay_ms ?? courier.bookingDelayMs;
    },
  }),
  stock: action({
    schema: z
      .strictObject({ variant_id: idSchema, warehouse_id: idSchema.optional(), set: qty, add: qty })
      .refine(({ set, add }) => (set === undefined) !== (add === undefined), 'either set or add is required'),
    run: ({ operations }, { variant_id: variantId, warehouse_id: warehouseId, set, add = 0 }) => {
      const level = { variantId, warehouseId };
      return {
        changes:
          set === undefined
            ? operations.add({ ...level, by: add })
            : operations.adjust({ ...level, to: set }),
      };
    },
  }),
  pay: action({
    schema: z.strictObject({ order_id: idSchema }),
    run: ({ orderDesk }, { order_id: id }) => {
      orderDesk.pay(id);
    },
  }),
  cancel: action({
    schema: z.strictObject({ order_id: idSchema }),
    run: ({ operations }, { order_id: id }) => ({ changes: operations.cancel(id) }),
  }),
  'lose-webhook': action({ schema: z.strictObject({}), run: ({ losses }) => showLoss(losses.lose()) }),
};

export function showLoss({ lost, change, revealedBy, readAtMs, productId, variant, warehouseId }: Loss) {
  return {
    product_id: productId,
    variant_id: variant.id,
    warehouse_id: warehouseId,
    request_id: lost.delivery.requestId,
    lost_at: lost.createdAtMs,
    old: change.old,
    new: change.new,
    revealed_by: revealedBy?.record.delivery.requestId ?? null,
    revealed_at: revealedBy?.record.sentAtMs ?? null,
    read_at: readAtMs,
  };
}
