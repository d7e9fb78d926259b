import { z } from 'zod';
import { addressInputSchema, createOrderRequestSchema } from '../../store-api/contract/order-schemas.ts';
import { idSchema } from '../../store-api/contract/schemas.ts';
import { parseFields } from '../api/request-body.ts';
import { ApiError } from '../shared/errors.ts';
import type { SentItem } from '../world/answers.ts';
import type { Store } from '../sandbox.ts';
import type { Operations } from '../world/operations.ts';
import { renderOrder } from '../world/order-render.ts';
import type { Order } from '../world/orders.ts';

interface Operation {
  readonly schema: z.ZodObject;
  run(store: Store, body: unknown): object | void;
}

function operation<Shape extends z.ZodRawShape>(
  shape: Shape,
  run: (store: Store, body: z.output<z.ZodObject<Shape>>) => object | void,
): Operation {
  return { schema: z.strictObject(shape), run };
}

function changing<Shape extends z.ZodRawShape>(
  shape: Shape,
  run: (operations: Operations, body: z.output<z.ZodObject<Shape>>) => SentItem[] | void,
): Operation {
  return operation(shape, ({ operations }, body) => ({ changes: run(operations, body) ?? [] }));
}

const qty = z.int();
const count = z.int().min(1);
const level = { variantId: idSchema, warehouseId: idSchema.optional() };
const oneLevel = { variantId: idSchema, warehouseId: idSchema };
const order = { orderId: idSchema };
const product = { productId: idSchema };
const cause = { reason: z.string().optional(), orderId: idSchema.optional() };
const newVariant = {
  name: z.string().optional(),
  sku: z.string().nullable().optional(),
  allowNegativeStock: z.boolean().optional(),
  stock: z.array(z.strictObject({ warehouseId: idSchema, qty })).optional(),
};
const newProduct = {
  name: z.string().min(1).optional(),
  kind: z.enum(['own', 'pulled', 'bundle', 'assembled']).optional(),
  variants: z.array(z.strictObject(newVariant)).min(1).optional(),
  components: z.array(z.strictObject({ variantId: idSchema, qty: count })).optional(),
};
const shown = (found: Order) => ({ order: renderOrder(found) });

const OPERATIONS: Readonly<Record<string, Operation>> = {
  reserve: operation(
    { lines: z.array(z.strictObject({ ...level, qty: count })).min(1) },
    (store, { lines }) => {
      const { orderId, changes } = store.operations.reserve(lines);
      return { orderId, changes };
    },
  ),
  cancel: changing({ ...order, reason: z.string().optional() }, (store, { orderId, reason }) =>
    store.cancel(orderId, reason),
  ),
  ship: changing(order, (store, { orderId }) => store.ship(orderId)),
  adjust: changing({ ...level, to: qty, ...cause }, (store, body) => store.adjust(body)),
  add: changing({ ...level, by: qty, ...cause }, (store, body) => store.add(body)),
  burst: changing({ ...level, by: z.array(qty).min(1) }, (store, body) => store.burst(body)),
  flip: changing({ ...level, by: qty }, (store, body) => store.flip(body)),
  assemble: changing({ ...level, units: count }, (store, body) => store.assemble(body)),
  disassemble: changing({ ...level, units: count }, (store, body) => store.disassemble(body)),
  create_product: operation(newProduct, ({ operations }, body) => {
    const { product: made, changes } = operations.createProduct(body);
    return { productId: made.id, variantIds: made.variants.map(({ id }) => id), changes };
  }),
  create_variant: operation({ ...product, ...newVariant }, ({ operations }, { productId, ...body }) => {
    const { variant, changes } = operations.createVariant(productId, body);
    return { variantId: variant.id, changes };
  }),
  rename_product: changing({ ...product, name: z.string().min(1) }, (store, { productId, name }) =>
    store.renameProduct(productId, name),
  ),
  add_warehouse: changing({ ...oneLevel, qty }, (store, body) => store.addWarehouse(body)),
  remove_warehouse: changing(oneLevel, (store, body) => store.removeWarehouse(body)),
  delete_variant: changing({ variantId: idSchema }, (store, { variantId }) => store.deleteVariant(variantId)),
  delete_product: changing(product, (store, { productId }) => store.deleteProduct(productId)),
  restore_product: changing(product, (store, { productId }) => store.restoreProduct(productId)),
  // Keyed in by hand: the order belongs to no channel.
  place_order: operation({ order: createOrderRequestSchema }, ({ orderDesk }, body) =>
    shown(orderDesk.place(body.order, null)),
  ),
  pay: operation(order, ({ orderDesk }, { orderId }) => shown(orderDesk.pay(orderId))),
  add_tracking_number: operation({ ...order, trackingNumber: z.string().min(1) }, ({ orderDesk }, body) =>
    shown(orderDesk.addTrackingNumber(body.orderId, body.trackingNumber)),
  ),
  delete_order: operation(order, ({ orderDesk }, { orderId }) => orderDesk.delete(orderId)),
  add_address: operation(
    { address: addressInputSchema, isPrimary: z.boolean().optional() },
    ({ addresses }, { address, isPrimary = false }) => ({
      address: addresses.addOwn(address, { isPrimary }),
    }),
  ),
  set_primary: operation({ addressId: idSchema, isPrimary: z.boolean() }, ({ addresses }, body) => {
    addresses.setPrimary(body.addressId, { isPrimary: body.isPrimary });
    return { addresses: addresses.own() };
  }),
};

/** @throws ApiError 400 that names the wrong field, or the reason why the operation is impossible. */
export function runOperation(
  store: Store,
  { operation: name, ...body }: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const found = typeof name === 'string' && Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
  if (found === undefined) {
    const names = Object.keys(OPERATIONS).join(', ');
    throw new ApiError(400, 'invalid_request', `operation: must be one of ${names}`);
  }
  const parsed = parseFields(found.schema, renameKeys(body, toCamelCase), toSnakeCase);
  return renameKeys({ changes: [], ...found.run(store, parsed) }, toSnakeCase);
}

/** Their content is in the store's form already. */
const AS_THE_STORE = ['order', 'address', 'addresses'];

export function renameKeys(value: object, rename: (key: string) => string): Record<string, unknown> {
  const renamed = (inner: unknown): unknown => {
    if (Array.isArray(inner)) return inner.map(renamed);
    return typeof inner === 'object' && inner !== null ? renameKeys(inner, rename) : inner;
  };
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      rename(key),
      AS_THE_STORE.includes(key) ? inner : renamed(inner),
    ]),
  );
}

export function toCamelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function toSnakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
