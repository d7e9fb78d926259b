import { expect } from 'vitest';
import { sellable } from '../../src/sandbox/world/model.ts';
import { present } from '../shared/present.ts';
import { failureOf } from '../store-api/connection.ts';
import { lamp as newLamp, recipient } from '../sandbox/harness.ts';
import type { Json } from '../sandbox/harness.ts';
import { rule } from './contract.ts';

import { errorOf } from './raw.ts';

const CREATE = '/v1/order/create';
const DETAIL = '/v1/order/detail';
const LIST = '/v1/product/list';
const PRODUCT = '/v1/product/detail';

const request = {
  shipping_type: 'flash',
  products: [{ sku: 'LAMP-1', qty: 1 }],
  recipient_address: recipient,
} as const;
const idempotent = { ...request, external_order_id: 'A-1' };
const sku = (text: string): Json => ({ products: [{ sku: text, qty: 1 }] });

rule('errors.400.invalid_request', 'each kind that the table names', async ({ raw, body, sandbox, lamp }) => {
  newLamp(sandbox, { sku: 'TWICE' });
  newLamp(sandbox, { sku: 'TWICE' });
  const kinds: Record<string, Json> = {
    'unknown field': { colour: 'red' },
    'wrong type': { sender_name: 7 },
    'id sent as a number': { sender_address_id: 5 },
    'unsupported shipping type': { shipping_type: 'dhl' },
    'duplicate SKU': sku('TWICE'),
    'both of an exclusive pair': { recipient_address_id: '5' },
    'neither of an exclusive pair': { recipient_address: null },
    'negative amount': { discount: -1 },
    'seconds for a time': { order_time: 1_790_000_000 },
    'unknown address id': { sender_address_id: '5' },
    'unknown SKU': sku('NOTHING'),
  };
  for (const [kind, fields] of Object.entries(kinds)) {
    const answer = await raw.post(CREATE, body(fields));
    expect([kind, ...errorOf(answer)]).toEqual([kind, 400, 'invalid_request']);
  }
  expect(sellable(lamp)).toBe(10);
});

rule('errors.403.access_denied', 'orders and addresses; the catalogue knows no 403', async (context) => {
  const { raw, body, steer, lamp } = context;
  const { id } = await context.order();
  await steer('/faults', { access_denied: true });
  for (const [path, sent] of [
    [CREATE, body()],
    [DETAIL, { order_id: id }],
    ['/v1/store/address/list', {}],
  ] as const) {
    expect(errorOf(await raw.post(path, sent))).toEqual([403, 'access_denied']);
  }
  expect((await raw.post(LIST)).status).toBe(200);
  expect((await raw.post(PRODUCT, { product_id: lamp.product.id })).status).toBe(200);
  expect(sellable(lamp)).toBe(9);
});

rule('errors.403.quota_exceeded', 'for new orders; those that exist are read', async (context) => {
  const { raw, body, steer, lamp } = context;
  const order = await context.order({ external_order_id: 'A-1' });
  await steer('/faults', { quota_exceeded: true });
  expect(errorOf(await raw.post(CREATE, body()))).toEqual([403, 'quota_exceeded']);
  expect(await context.order({ external_order_id: 'A-1' })).toEqual(order);
  expect(await context.read(order['id'])).toEqual(order);
  expect(sellable(lamp)).toBe(9);
  // Not the caller: the store's owner resolves it.
  await steer('/faults', { quota_exceeded: false });
  expect((await raw.post(CREATE, body())).status).toBe(200);
});

rule('errors.413.invalid_request', 'before anything else is looked at', async ({ raw }) => {
  const large = `{"colour":"${'x'.repeat(1_048_576)}"}`;
  expect(errorOf(await raw.post(LIST, large))).toEqual([413, 'invalid_request']);
  expect(errorOf(await raw.post(LIST, large, { token: null }))).toEqual([413, 'invalid_request']);
});

rule('errors.rule.1', 'word for word', async ({ raw, body, sandbox }) => {
  const pulled = present(sandbox.truth.variants.find((each) => each.pulledFromVariantId !== null));
  const refusedWith = async (fields: Json) => {
    const answer = await raw.post(CREATE, body(fields));
    expect(errorOf(answer)).toEqual([400, 'invalid_request']);
    return answer.body['error_description'];
  };
  const customers = sandbox.addresses.addCustomers(recipient).id;
  const sender = 'sender_address_id: no such address for this store';
  expect(await refusedWith({ sender_address_id: '5' })).toBe(sender);
  expect(await refusedWith({ sender_address_id: customers })).toBe(sender);
  expect(await refusedWith({ recipient_address: null, recipient_address_id: '5' })).toBe(
    'recipient_address_id: no such address for this store',
  );
  // The seller's own variant exists, in the seller's store.
  const line = (id: string): Json => ({ products: [{ product_variant_id: id, qty: 1 }] });
  expect(await refusedWith(line(present(pulled.pulledFromVariantId)))).toBe(await refusedWith(line('5')));
  newLamp(sandbox, { sku: 'GONE-1' }).deleted = true;
  const unknown = (await refusedWith(sku('NEVER-1'))) as string;
  expect(await refusedWith(sku('GONE-1'))).toBe(unknown.replace('NEVER-1', 'GONE-1'));
});

rule(
  'errors.rule.4.order',
  'with an external_order_id, and not without',
  async ({ client, sandbox, lamp }) => {
    const mine = client();
    let failures = 0;
    sandbox.reads.intercept = (_path, _body, respond) => {
      failures += 1;
      // The first makes the order, and its answer is lost; then the service fails.
      if (failures === 1) respond();
      if (failures === 1) return Promise.resolve('reset' as const);
      const error = { error: 'server_error', error_description: 'x' };
      return Promise.resolve(failures === 2 ? { status: 500, body: error } : undefined);
    };
    expect((await mine.createOrder(idempotent)).order.external_order_id).toBe('A-1');
    expect(sandbox.requests[CREATE]).toBe(3);
    expect(sellable(lamp)).toBe(9);

    failures = 1;
    expect(await failureOf(mine.createOrder(request))).toMatchObject({ kind: 'unavailable', status: 500 });
    expect(sandbox.requests[CREATE]).toBe(4);
  },
);
