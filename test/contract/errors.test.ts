import { expect } from 'vitest';
import { sellable } from '../../src/sandbox/world/model.ts';
import { present } from '../shared/present.ts';
import { lamp as newLamp, type Json } from '../sandbox/harness.ts';
import { rule } from './contract.ts';
import { errorOf } from './raw.ts';

const CREATE = '/v1/order/create';
const DETAIL = '/v1/order/detail';
const LIST = '/v1/product/list';
const PRODUCT = '/v1/product/detail';

const sku = (text: string): Json => ({ products: [{ sku: text, qty: 1 }] });

rule('errors.403.access_denied', 'refuses orders and addresses, not the catalogue', async (context) => {
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

rule('errors.403.quota_exceeded', 'refuses new orders and still reads existing ones', async (context) => {
  const { raw, body, steer, lamp } = context;
  const order = await context.order({ external_order_id: 'A-1' });
  await steer('/faults', { quota_exceeded: true });
  expect(errorOf(await raw.post(CREATE, body()))).toEqual([403, 'quota_exceeded']);
  expect(await context.order({ external_order_id: 'A-1' })).toEqual(order);
  expect(await context.read(order['id'])).toEqual(order);
  expect(sellable(lamp)).toBe(9);
  // The store's owner resolves it.
  await steer('/faults', { quota_exceeded: false });
  expect((await raw.post(CREATE, body())).status).toBe(200);
});

rule('errors.413.invalid_request', 'refuses a large body before checking anything else', async ({ raw }) => {
  const large = `{"colour":"${'x'.repeat(1_048_576)}"}`;
  expect(errorOf(await raw.post(LIST, large))).toEqual([413, 'invalid_request']);
  expect(errorOf(await raw.post(LIST, large, { token: null }))).toEqual([413, 'invalid_request']);
});

rule(
  'errors.rule.1',
  'answers the same for unknown and inaccessible references',
  async ({ raw, body, sandbox }) => {
    const pulled = present(sandbox.truth.variants.find((each) => each.pulledFromVariantId !== null));
    const refusedWith = async (fields: Json) => {
      const answer = await raw.post(CREATE, body(fields));
      expect(errorOf(answer)).toEqual([400, 'invalid_request']);
      return answer.body['error_description'];
    };
    expect(await refusedWith({ sender_address_id: '5' })).toBe(
      'sender_address_id: no such address for this store',
    );
    expect(await refusedWith({ recipient_address: null, recipient_address_id: '5' })).toBe(
      'recipient_address_id: no such address for this store',
    );
    // The seller's own variant exists, in the seller's store.
    const line = (id: string): Json => ({ products: [{ product_variant_id: id, qty: 1 }] });
    expect(await refusedWith(line(present(pulled.pulledFromVariantId)))).toBe(await refusedWith(line('5')));
    newLamp(sandbox, { sku: 'GONE-1' }).deleted = true;
    const unknown = (await refusedWith(sku('NEVER-1'))) as string;
    expect(await refusedWith(sku('GONE-1'))).toBe(unknown.replace('NEVER-1', 'GONE-1'));
  },
);
