import { z } from 'zod';
import { addressInputSchema, createOrderRequestSchema } from '../../store-api/contract/order-schemas.ts';
import { idSchema } from '../../store-api/contract/schemas.ts';
import type { AddressBook } from '../orders/address-book.ts';
import { ApiError } from '../shared/errors.ts';
import type { OrderDesk } from '../orders/order-desk.ts';
import { renderOrder } from '../orders/order-render.ts';
import { describe, withoutNulls } from '../api/request-body.ts';
import { OperationError } from '../world/targets.ts';

const order = { order_id: idSchema };

/** What the store's staff do with orders and addresses; further operations of `POST /sandbox/operations`. */
const schemas = {
  /** Enters an order by hand: it does not belong to the API's channel, which therefore does not know its external id. */
  place_order: z.strictObject({ operation: z.literal('place_order'), order: createOrderRequestSchema }),
  pay: z.strictObject({ operation: z.literal('pay'), ...order }),
  add_tracking_number: z.strictObject({
    operation: z.literal('add_tracking_number'),
    ...order,
    tracking_number: z.string().min(1),
  }),
  delete_order: z.strictObject({ operation: z.literal('delete_order'), ...order }),
  add_address: z.strictObject({
    operation: z.literal('add_address'),
    address: addressInputSchema,
    is_primary: z.boolean().optional(),
  }),
  set_primary: z.strictObject({
    operation: z.literal('set_primary'),
    address_id: idSchema,
    is_primary: z.boolean(),
  }),
} as const;

type Requested = z.output<(typeof schemas)[keyof typeof schemas]>;
interface Deps {
  readonly desk: OrderDesk;
  readonly addresses: AddressBook;
}

export const orderOperationNames: readonly string[] = Object.keys(schemas);

export function isOrderOperation(name: unknown): name is keyof typeof schemas {
  return typeof name === 'string' && Object.hasOwn(schemas, name);
}

/** Carries out the operation. Throws ApiError 400 that names the wrong field or says why it is impossible. */
export function runOrderOperation(
  deps: Deps,
  operation: keyof typeof schemas,
  body: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const schema = schemas[operation];
  const parsed = schema.safeParse(withoutNulls(body, schema));
  if (!parsed.success) throw new ApiError(400, 'invalid_request', describe(parsed.error));
  try {
    return run(deps, parsed.data);
  } catch (error) {
    if (error instanceof OperationError) throw new ApiError(400, 'invalid_request', error.message);
    throw error;
  }
}

function run({ desk, addresses }: Deps, requested: Requested): Record<string, unknown> {
  switch (requested.operation) {
    case 'place_order':
      return { order: renderOrder(desk.place(requested.order, null)) };
    case 'pay':
      return { order: renderOrder(desk.pay(requested.order_id)) };
    case 'add_tracking_number':
      return {
        order: renderOrder(desk.addTrackingNumber(requested.order_id, requested.tracking_number)),
      };
    case 'delete_order':
      desk.delete(requested.order_id);
      return {};
    case 'add_address':
      return { address: addresses.addOwn(requested.address, { isPrimary: requested.is_primary ?? false }) };
    case 'set_primary':
      addresses.setPrimary(requested.address_id, { isPrimary: requested.is_primary });
      return { addresses: addresses.own() };
  }
}
