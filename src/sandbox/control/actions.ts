/** The actions of programs on the store. */
import { z } from 'zod';
import { idSchema } from '../../store-api/contract/schemas.ts';
import { OperationError } from '../shared/errors.ts';
import type { Store } from '../store.ts';
import { requireLevel } from '../world/targets.ts';
import type { Product } from '../world/model.ts';
import { faultsSchema, ms, readFaults, setFaults } from './faults.ts';

interface Action<Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema;
  /** The answer to `GET`, and to `POST` if `run` returns nothing. */
  readonly show?: (store: Store) => Record<string, unknown>;
  run(this: void, store: Store, body: z.output<Schema>): object | void;
}

const action = <Schema extends z.ZodObject>(of: Action<Schema>): Action => of;

const qty = z.int().optional();
/** A number of products: the last ones of the catalogue. */
const products = z.union([z.int().min(1), z.array(idSchema).min(1)]).optional();

export const ACTIONS = {
  faults: action({ schema: faultsSchema, show: readFaults, run: setFaults }),
  traffic: action({
    schema: z.strictObject({ rate: z.number().min(0).max(10_000) }),
    show: ({ traffic: { rate } }) => ({ rate }),
    run: ({ traffic }, { rate }) => {
      traffic.start(rate);
    },
  }),
  settings: action({
    schema: z.strictObject({
      webhook_url: z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).optional(),
      booking_delay_ms: ms.optional(),
    }),
    show: ({ courier, network }) => ({
      webhook_url: network.webhookUrl ?? '',
      booking_delay_ms: courier.bookingDelayMs,
    }),
    run: ({ courier, network }, settings) => {
      network.webhookUrl = settings.webhook_url ?? network.webhookUrl;
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
  products: action({
    schema: z
      .strictObject({ delete: products, restore: products })
      .refine(
        (body) => (body.delete === undefined) !== (body.restore === undefined),
        'either delete or restore is required',
      ),
    run: ({ operations, truth }, body) => {
      const isDeletion = body.delete !== undefined;
      const which = body.delete ?? body.restore ?? [];
      const ids = chosen(
        truth.products.filter(({ deleted }) => deleted !== isDeletion),
        which,
      );
      const change = isDeletion ? operations.deleteProduct : operations.restoreProduct;
      for (const id of ids) change(id);
      return { product_ids: ids };
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
  'lose-webhook': action({ schema: z.strictObject({}), run: loseWebhook }),
};

/** @throws OperationError if there are too few, or one is not among them. */
function chosen(products: readonly Product[], which: number | readonly string[]): readonly string[] {
  const ids = products.map(({ id }) => id);
  if (typeof which === 'number') {
    if (which > ids.length) throw new OperationError(`there are only ${ids.length} such products`);
    return ids.slice(-which);
  }
  const unknown = which.find((id) => !ids.includes(id));
  if (unknown !== undefined) throw new OperationError(`there is no such product ${unknown}`);
  return [...new Set(which)];
}

/** The same level changes again this much later, and that webhook shows the loss. */
const NEXT_CHANGE_AFTER_MS = 1_000;

/** @throws OperationError if there is nothing to lose. */
function loseWebhook({ clock, network, operations, truth }: Store): object {
  if (!network.sends) throw new OperationError('no webhooks are sent, so none can be lost');
  const variant = truth.variants.find(
    ({ id, kind, levels }) => kind === 'own' && levels.length > 0 && truth.variant(id) !== undefined,
  );
  if (variant === undefined) throw new OperationError('no product has stock');
  const { warehouseId } = requireLevel(variant);
  const level = { variantId: variant.id, warehouseId };
  network.loseNext(1);
  const [lost] = operations.add({ ...level, by: 3 });
  clock.after(NEXT_CHANGE_AFTER_MS, () => {
    const isLeft = truth.variant(variant.id)?.levels.some((each) => each.warehouseId === warehouseId);
    if (isLeft === true) operations.add({ ...level, by: 1 });
  });
  return { lost };
}
