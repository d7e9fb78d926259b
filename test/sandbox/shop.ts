import { expect } from 'vitest';
import { sellable } from '../../src/sandbox/world/model.ts';
import type { Variant } from '../../src/sandbox/world/model.ts';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { clientOf, steer, withReceiver } from './harness.ts';
import type { Client, Json, Reply } from './harness.ts';
import type { Receiver } from './receiver.ts';

export type Shop = {
  sandbox: Sandbox;
  receiver: Receiver;
  call: Client;
  /** Ten in stock, at 250.00, with the SKU `LAMP-1`. */
  variant: Variant;
  sellable(): number;
  /** A whole, right body, with the fields given in place of its own. */
  body(fields?: Json): Json;
  create(fields?: Json): Promise<Reply>;
  /** Creates, and gives the order of a 200. */
  order(fields?: Json): Promise<Json>;
  detail(orderId: unknown): Promise<Reply>;
  /** The order as it stands now. */
  read(orderId: unknown): Promise<Json>;
  /** `POST /sandbox/…`, which must be taken. */
  steer(path: string, body: Json): Promise<Json>;
};

export const recipient = {
  name: 'สมชาย ใจดี',
  telephone: '0812345678',
  address1: '1/2 ซอยสุขใจ',
  sub_district: 'บางรัก',
  district: 'บางรัก',
  province: 'กรุงเทพมหานคร',
  postal_code: 10500,
};

export async function shopFor(options: SandboxOptions = {}): Promise<Shop> {
  const { sandbox, receiver } = await withReceiver({ products: 0, ...options });
  const call = await clientOf(sandbox);
  const variant = lamp(sandbox, { sku: 'LAMP-1' });
  variant.price = '250.00';
  await sandbox.network.idle();
  receiver.received.length = 0;

  const body = (fields: Json = {}): Json => ({
    shipping_type: 'flash',
    products: [{ product_variant_id: variant.id, qty: 1 }],
    recipient_address: recipient,
    ...fields,
  });
  const create = (fields: Json = {}): Promise<Reply> => call('/v1/order/create', body(fields));
  const detail = (orderId: unknown): Promise<Reply> => call('/v1/order/detail', { order_id: orderId });
  return {
    ...{ sandbox, receiver, call, variant, body, create, detail },
    sellable: () => sellable(variant),
    order: async (fields) => orderOf(await create(fields)),
    read: async (orderId) => orderOf(await detail(orderId)),
    steer: async (path, fields) => {
      const answer = await steer(sandbox, path, fields);
      expect(answer).toMatchObject({ status: 200 });
      return answer.body;
    },
  };
}

/** A variant with ten in its one warehouse. */
export function lamp(sandbox: Sandbox, fields: { sku?: string | null; allowNegativeStock?: boolean } = {}) {
  const stock = [{ warehouseId: present(sandbox.truth.warehouseIds[0]), qty: 10 }];
  return present(
    sandbox.operations.createProduct({
      name: 'Lamp',
      variants: [{ allowNegativeStock: false, ...fields, stock }],
    }).product.variants[0],
  );
}

function orderOf(answer: Reply): Json {
  expect(answer).toMatchObject({ status: 200, body: { order: { id: expect.stringMatching(/^[0-9]+$/) } } });
  expect(answer.body['request_id']).toBe(answer.headers.get('x-request-id'));
  return answer.body['order'] as Json;
}
