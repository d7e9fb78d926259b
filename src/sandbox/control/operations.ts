import { z } from 'zod';
import { idSchema } from '../../store-api/contract/schemas.ts';
import { ApiError } from '../shared/errors.ts';
import type { Operations } from '../world/operations.ts';
import { describe } from '../api/request-body.ts';
import { OperationError } from '../world/targets.ts';

const qty = z.int();
const count = z.int().min(1);
const level = { variantId: idSchema, warehouseId: idSchema.optional() };
/** The reason of a change, and the order that caused it, if any. */
const told = { reason: z.string().optional(), orderId: idSchema.optional() };
const newVariant = z.strictObject({
  name: z.string().optional(),
  sku: z.string().nullable().optional(),
  allowNegativeStock: z.boolean().optional(),
  stock: z.array(z.strictObject({ warehouseId: idSchema, qty })).optional(),
});

/** What `POST /sandbox/operations` takes, after its field names were turned from snake_case. */
const operationSchema = z.discriminatedUnion('operation', [
  z.strictObject({
    operation: z.literal('reserve'),
    lines: z.array(z.strictObject({ ...level, qty: count })).min(1),
  }),
  z.strictObject({ operation: z.literal('cancel'), orderId: idSchema, reason: z.string().optional() }),
  z.strictObject({ operation: z.literal('ship'), orderId: idSchema }),
  z.strictObject({ operation: z.literal('adjust'), ...level, to: qty, ...told }),
  z.strictObject({ operation: z.literal('add'), ...level, by: qty, ...told }),
  z.strictObject({ operation: z.literal('burst'), ...level, by: z.array(qty).min(1) }),
  z.strictObject({ operation: z.literal('flip'), ...level, by: qty }),
  z.strictObject({ operation: z.literal('assemble'), ...level, units: count }),
  z.strictObject({ operation: z.literal('disassemble'), ...level, units: count }),
  z.strictObject({
    operation: z.literal('create_product'),
    name: z.string().min(1).optional(),
    kind: z.enum(['own', 'pulled', 'bundle', 'assembled']).optional(),
    variants: z.array(newVariant).min(1).optional(),
    components: z.array(z.strictObject({ variantId: idSchema, qty: count })).optional(),
  }),
  newVariant.extend({ operation: z.literal('create_variant'), productId: idSchema }),
  z.strictObject({ operation: z.literal('rename_product'), productId: idSchema, name: z.string().min(1) }),
  z.strictObject({
    operation: z.literal('add_warehouse'),
    variantId: idSchema,
    warehouseId: idSchema,
    qty,
  }),
  z.strictObject({ operation: z.literal('remove_warehouse'), variantId: idSchema, warehouseId: idSchema }),
  z.strictObject({ operation: z.literal('delete_variant'), variantId: idSchema }),
  z.strictObject({ operation: z.literal('delete_product'), productId: idSchema }),
  z.strictObject({ operation: z.literal('restore_product'), productId: idSchema }),
]);

export const operationNames: readonly string[] = operationSchema.options.map(
  (option) => option.shape.operation.value,
);

type Requested = Defined<z.output<typeof operationSchema>>;

/** JSON has no undefined: an optional field that was parsed is either absent or has its value. */
type Defined<T> = T extends readonly (infer Item)[]
  ? Defined<Item>[]
  : T extends object
    ? { [Key in keyof T]: Defined<Exclude<T[Key], undefined>> }
    : T;

/** Carries out the operation. Throws ApiError 400 that names the wrong field or says why it is impossible. */
export function runOperation(
  operations: Operations,
  body: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const parsed = operationSchema.safeParse(renameKeys(body, toCamelCase));
  if (!parsed.success) throw new ApiError(400, 'invalid_request', describe(parsed.error, toSnakeCase));
  try {
    return renameKeys(run(operations, parsed.data as Requested), toSnakeCase);
  } catch (error) {
    if (error instanceof OperationError) throw new ApiError(400, 'invalid_request', error.message);
    throw error;
  }
}

function run(operations: Operations, requested: Requested): Record<string, unknown> {
  switch (requested.operation) {
    case 'reserve': {
      const { orderId, changes } = operations.reserve(requested.lines);
      return { orderId, changes };
    }
    case 'cancel':
      return { changes: operations.cancel(requested.orderId, requested.reason) };
    case 'ship':
      operations.ship(requested.orderId);
      return { changes: [] };
    case 'adjust':
    case 'add':
    case 'burst':
    case 'flip':
    case 'assemble':
    case 'disassemble':
      return { changes: runOnLevel(operations, requested) };
    case 'create_product': {
      const { product, changes } = operations.createProduct(requested);
      return { productId: product.id, variantIds: product.variants.map((variant) => variant.id), changes };
    }
    case 'create_variant': {
      const { variant, changes } = operations.createVariant(requested.productId, requested);
      return { variantId: variant.id, changes };
    }
    case 'rename_product':
      operations.renameProduct(requested.productId, requested.name);
      return { changes: [] };
    case 'add_warehouse':
      return { changes: operations.addWarehouse(requested) };
    case 'remove_warehouse':
      return { changes: operations.removeWarehouse(requested) };
    case 'delete_variant':
      operations.deleteVariant(requested.variantId);
      return { changes: [] };
    case 'delete_product':
      operations.deleteProduct(requested.productId);
      return { changes: [] };
    case 'restore_product':
      operations.restoreProduct(requested.productId);
      return { changes: [] };
  }
}

type OnLevel = Extract<
  Requested,
  { readonly operation: 'adjust' | 'add' | 'burst' | 'flip' | 'assemble' | 'disassemble' }
>;

function runOnLevel(operations: Operations, requested: OnLevel) {
  switch (requested.operation) {
    case 'adjust':
      return operations.adjust(requested);
    case 'add':
      return operations.add(requested);
    case 'burst':
      return operations.burst(requested);
    case 'flip':
      return operations.flip(requested);
    case 'assemble':
      return operations.assemble(requested);
    case 'disassemble':
      return operations.disassemble(requested);
  }
}

/** The control API uses snake_case like the store's API; the code does not. */
export function renameKeys(value: object, rename: (key: string) => string): Record<string, unknown> {
  const renamed = (inner: unknown): unknown => {
    if (Array.isArray(inner)) return inner.map(renamed);
    return typeof inner === 'object' && inner !== null ? renameKeys(inner, rename) : inner;
  };
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [rename(key), renamed(inner)]));
}

function toCamelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function toSnakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
