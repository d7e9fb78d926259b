import { z } from 'zod';
import { addressInputSchema, createOrderRequestSchema } from '../../store-api/contract/order-schemas.ts';
import { idSchema } from '../../store-api/contract/schemas.ts';
import { describe, withoutNulls } from '../api/request-body.ts';
import { ApiError } from '../shared/errors.ts';
import type { Store } from '../store.ts';
import { renderOrder } from '../world/order-render.ts';
import type { Order } from '../world/orders.ts';
import { OperationError } from '../world/targets.ts';
import { renameKeys, toCamelCase, toSnakeCase } from './names.ts';

interface Operation {
  readonly schema: z.ZodObject;
  run(store: Store, body: unknown): object | void;
}

/** JSON has no undefined: an optional field that was parsed is either absent or has its value. */
type Defined<T> = T extends readonly (infer Item)[]
  ? Defined<Item>[]
  : T extends object
    ? { [Key in keyof T]: Defined<Exclude<T[Key], undefined>> }
    : T;

/** Checks the body's type against its schema, then erases it, so that the operations share one table. */
function operation<Shape extends z.ZodRawShape>(
  shape: Shape,
  run: (store: Store, body: Defined<z.output<z.ZodObject<Shape>>>) => object | void,
): Operation {
  return { schema: z.strictObject(shape), run };
}

const qty = z.int();
const count = z.int().min(1);
const level = { variantId: idSchema, warehouseId: idSchema.optional() };
const order = { orderId: idSchema };
const product = { productId: idSchema };
/** The reason of a change, and the order that caused it, if any. */
const cause = { reason: z.string().optional(), orderId: idSchema.optional() };
const newVariant = {
  name: z.string().optional(),
  sku: z.string().nullable().optional(),
  allowNegativeStock: z.boolean().optional(),
  stock: z.array(z.strictObject({ warehouseId: idSchema, qty })).optional(),
};
const shown = (found: Order) => ({ order: renderOrder(found) });

/** What the store's staff do. Field names are snake_case in bodies. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  reserve: operation(
    { lines: z.array(z.strictObject({ ...level, qty: count })).min(1) },
    (store, { lines }) => {
      const { orderId, changes } = store.operations.reserve(lines);
      return { orderId, changes };
    },
  ),
  cancel: operation({ ...order, reason: z.string().optional() }, ({ operations }, { orderId, reason }) => ({
    changes: operations.cancel(orderId, reason),
  })),
  ship: operation(order, ({ operations }, { orderId }) => {
    operations.ship(orderId);
  }),
  adjust: operation({ ...level, to: qty, ...cause }, ({ operations }, body) => ({
    changes: operations.adjust(body),
  })),
  add: operation({ ...level, by: qty, ...cause }, ({ operations }, body) => ({
    changes: operations.add(body),
  })),
  burst: operation({ ...level, by: z.array(qty).min(1) }, ({ operations }, body) => ({
    changes: operations.burst(body),
  })),
  flip: operation({ ...level, by: qty }, ({ operations }, body) => ({ changes: operations.flip(body) })),
  assemble: operation({ ...level, units: count }, ({ operations }, body) => ({
    changes: operations.assemble(body),
  })),
  disassemble: operation({ ...level, units: count }, ({ operations }, body) => ({
    changes: operations.disassemble(body),
  })),
  create_product: operation(
    {
      name: z.string().min(1).optional(),
      kind: z.enum(['own', 'pulled', 'bundle', 'assembled']).optional(),
      variants: z.array(z.strictObject(newVariant)).min(1).optional(),
      components: z.array(z.strictObject({ variantId: idSchema, qty: count })).optional(),
    },
    ({ operations }, body) => {
      const { product: made, changes } = operations.createProduct(body);
      return { productId: made.id, variantIds: made.variants.map(({ id }) => id), changes };
    },
  ),
  create_variant: operation({ ...product, ...newVariant }, ({ operations }, { productId, ...body }) => {
    const { variant, changes } = operations.createVariant(productId, body);
    return { variantId: variant.id, changes };
  }),
  rename_product: operation(
    { ...product, name: z.string().min(1) },
    ({ operations }, { productId, name }) => {
      operations.renameProduct(productId, name);
    },
  ),
  add_warehouse: operation({ variantId: idSchema, warehouseId: idSchema, qty }, ({ operations }, body) => ({
    changes: operations.addWarehouse(body),
  })),
  remove_warehouse: operation({ variantId: idSchema, warehouseId: idSchema }, ({ operations }, body) => ({
    changes: operations.removeWarehouse(body),
  })),
  delete_variant: operation({ variantId: idSchema }, ({ operations }, { variantId }) => {
    operations.deleteVariant(variantId);
  }),
  delete_product: operation(product, ({ operations }, { productId }) => {
    operations.deleteProduct(productId);
  }),
  restore_product: operation(product, ({ operations }, { productId }) => {
    operations.restoreProduct(productId);
  }),
  // Keyed in by hand: the order does not belong to the API's channel, which therefore does not know its external id.
  place_order: operation({ order: createOrderRequestSchema }, ({ orderDesk }, body) =>
    shown(orderDesk.place(body.order as z.output<typeof createOrderRequestSchema>, null)),
  ),
  pay: operation(order, ({ orderDesk }, { orderId }) => shown(orderDesk.pay(orderId))),
  add_tracking_number: operation({ ...order, trackingNumber: z.string().min(1) }, ({ orderDesk }, body) =>
    shown(orderDesk.addTrackingNumber(body.orderId, body.trackingNumber)),
  ),
  delete_order: operation(order, ({ orderDesk }, { orderId }) => {
    orderDesk.delete(orderId);
  }),
  add_address: operation(
    { address: addressInputSchema, isPrimary: z.boolean().optional() },
    ({ addresses }, { address, isPrimary = false }) => ({
      address: addresses.addOwn(address as z.output<typeof addressInputSchema>, { isPrimary }),
    }),
  ),
  set_primary: operation({ addressId: idSchema, isPrimary: z.boolean() }, ({ addresses }, body) => {
    addresses.setPrimary(body.addressId, { isPrimary: body.isPrimary });
    return { addresses: addresses.own() };
  }),
};

/** Carries out the operation. Throws ApiError 400 that names the wrong field or says why it is impossible. */
export function runOperation(
  store: Store,
  { operation: name, ...body }: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const found = typeof name === 'string' && Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
  if (found === undefined) {
    const names = Object.keys(OPERATIONS).join(', ');
    throw new ApiError(400, 'invalid_request', `operation: must be one of ${names}`);
  }
  const parsed = found.schema.safeParse(withoutNulls(renameKeys(body, toCamelCase), found.schema));
  if (!parsed.success) throw new ApiError(400, 'invalid_request', describe(parsed.error, toSnakeCase));
  const done = possible(() => found.run(store, parsed.data));
  return renameKeys({ changes: [], ...done }, toSnakeCase);
}

/** Answers an operation that is impossible in the store's state with 400 and the reason. */
export function possible<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof OperationError) throw new ApiError(400, 'invalid_request', error.message);
    throw error;
  }
}
