import { describe, expect, test } from 'vitest';
import { productDetailResponseSchema } from '../../src/service/schemas.ts';
import { cellOf, clientOf, reply, sandboxFor, variantOf } from './harness.ts';
import type { Client } from './harness.ts';

async function detail(call: Client, productId: string) {
  const { body } = await call('/v1/product/detail', { product_id: productId });
  return body['product'] as { id: string; variants: Record<string, unknown>[] } & Record<string, unknown>;
}

describe('POST /v1/product/detail', () => {
  test('every product has the documented shape, and no field is null', async () => {
    const sandbox = await sandboxFor({ products: 60 });
    const call = await clientOf(sandbox);
    for (const { id } of sandbox.truth.products) {
      const { status, body, headers } = await call('/v1/product/detail', { product_id: id });
      expect(status).toBe(200);
      expect(productDetailResponseSchema.parse(body).product.id).toBe(id);
      expect(JSON.stringify(body)).not.toContain('null');
      expect(body['request_id']).toBe(headers.get('x-request-id'));
    }
  });

  test.each(['own', 'pulled'] as const)(
    'some %s product has every optional field, and some lacks it',
    async (kind) => {
      const sandbox = await sandboxFor({ products: 200 });
      const call = await clientOf(sandbox);
      const products = await Promise.all(
        sandbox.truth.products
          .filter((each) => each.kind === kind)
          .slice(0, 40)
          .map(({ id }) => detail(call, id)),
      );
      const optional = [
        'category',
        'pg_vd_ids',
        'shipping_rates',
        ...(kind === 'pulled' ? ['seller_shipping_rates'] : []),
      ];
      for (const field of optional) {
        expect(products.some((product) => field in product)).toBe(true);
        expect(products.every((product) => field in product)).toBe(false);
      }
      const variants = products.flatMap((product) => product.variants);
      for (const field of ['sku', 'upc', 'cost', 'img_url', 'thumbnail_url', 'tiny_img_url']) {
        expect(variants.some((variant) => field in variant)).toBe(true);
        expect(variants.every((variant) => field in variant)).toBe(false);
      }
      if (kind === 'own') expect(products.some((product) => 'seller_shipping_rates' in product)).toBe(false);
      expect(products.find((product) => 'shipping_rates' in product)!['shipping_rates']).toMatchObject([
        {
          id: expect.stringMatching(/^[0-9]+$/),
          shipping_type: 'flash',
          is_cod: false,
          init_qty: 1,
          init_price: '50.00',
          next_price: '10.00',
        },
        { is_cod: true },
      ]);
    },
  );

  test('an own variant tells its stock by warehouse, and the sums agree', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    const variant = variantOf(sandbox, 'own', 2);
    sandbox.operations.reserve([{ ...cellOf(variant), qty: 1 }]);

    const [shown] = (await detail(call, variant.product.id)).variants.filter(
      (each) => each['product_variant_id'] === variant.id,
    );
    const warehouses = shown!['warehouses'] as Record<string, number>[];
    expect(warehouses).toHaveLength(variant.cells.length);
    for (const level of warehouses) {
      expect(level['available_qty']).toBe(level['on_hand']! - level['reserved_qty']!);
    }
    const sum = (field: string) => warehouses.reduce((total, level) => total + level[field]!, 0);
    expect(shown).toMatchObject({
      available_qty: sum('available_qty'),
      on_hand: sum('on_hand'),
      reserved_qty: 1,
    });
  });

  test('a pulled product names its parent and tells only what the seller can sell', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    const variant = variantOf(sandbox, 'pulled');
    const product = await detail(call, variant.product.id);
    expect(product['parent_id']).toMatch(/^[0-9]+$/);
    expect(product).not.toHaveProperty('warehouse_ids');
    for (const shown of product.variants) {
      expect(shown['pulled_from_product_variant_id']).toMatch(/^[0-9]+$/);
      for (const absent of ['warehouses', 'on_hand', 'reserved_qty'])
        expect(shown).not.toHaveProperty(absent);
    }
    const before = product.variants[0]!['available_qty'] as number;
    sandbox.operations.add({ ...cellOf(variant), by: 7 });
    expect((await detail(call, variant.product.id)).variants[0]!['available_qty']).toBe(before + 7);
  });

  test('a bundle has what its scarcest component allows, and no stock of its own', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    const [a, b] = ['A', 'B'].map(
      (name) =>
        sandbox.operations.createProduct({
          name,
          variants: [{ stock: [{ warehouseId: sandbox.truth.warehouseIds[0]!, qty: 10 }] }],
        }).product.variants[0]!,
    );
    const { product } = sandbox.operations.createProduct({
      kind: 'bundle',
      components: [
        { variantId: a!.id, qty: 2 },
        { variantId: b!.id, qty: 3 },
      ],
    });
    const shown = async () => (await detail(call, product.id)).variants[0]!;
    expect(await shown()).toMatchObject({ bundled_pp_count: 2, bundled_sum_qty: 5, available_qty: 3 });
    expect(await shown()).not.toHaveProperty('warehouses');
    expect(await shown()).not.toHaveProperty('on_hand');
    expect((await detail(call, a!.product.id)).variants[0]).toMatchObject({ bundled_by_count: 1 });

    sandbox.operations.reserve([{ variantId: product.variants[0]!.id, qty: 1 }]);
    expect(await shown()).toMatchObject({ available_qty: 2 });
    expect((await detail(call, b!.product.id)).variants[0]).toMatchObject({ available_qty: 7 });

    sandbox.operations.deleteProduct(product.id);
    expect((await detail(call, a!.product.id)).variants[0]).not.toHaveProperty('bundled_by_count');
  });

  test('an assembled variant holds its own stock', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    const variant = variantOf(sandbox, 'assembled');
    const [shown] = (await detail(call, variant.product.id)).variants;
    expect(shown).toMatchObject({
      product_assembly_id: variant.compositionId,
      assembled_pp_count: variant.components.length,
      warehouses: [expect.objectContaining({ wh_id: variant.cells[0]!.warehouseId })],
    });
  });

  test('ids are digit strings too large for a number', async () => {
    const sandbox = await sandboxFor({ products: 40 });
    const ids = sandbox.truth.products.flatMap(({ id, variants }) => [
      id,
      ...variants.map((each) => each.id),
    ]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => /^[0-9]+$/.test(id))).toBe(true);
    // As numbers, some of them become each other.
    expect(new Set(ids.map(Number)).size).toBeLessThan(ids.length);
  });

  test('every miss is the same 404', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    const { id } = sandbox.truth.products[0]!;
    sandbox.operations.deleteProduct(id);
    const deleted = await call('/v1/product/detail', { product_id: id });
    const never = await call('/v1/product/detail', { product_id: '1' });
    expect([deleted.status, deleted.body['error']]).toEqual([404, 'not_found']);
    expect(never.body).toEqual(deleted.body);
    sandbox.operations.restoreProduct(id);
    expect((await call('/v1/product/detail', { product_id: id })).status).toBe(200);
  });

  test.each([
    ['an id as a number', { product_id: 12 }, 'product_id'],
    ['an id that is not digits', { product_id: '12a' }, 'product_id'],
    ['no id', {}, 'product_id'],
    ['a null id', { product_id: null }, 'product_id'],
    ['an unknown field', { product_id: '12', store_id: '1' }, 'store_id'],
  ])('refuses %s', async (_, body, field) => {
    const call = await clientOf(await sandboxFor());
    const answer = await call('/v1/product/detail', body);
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
    expect(answer.body['error_description']).toContain(field);
  });

  test.each([['[]'], ['"x"'], ['null'], ['{'], ['']])('refuses the body %j', async (body) => {
    const call = await clientOf(await sandboxFor());
    const answer = await call('/v1/product/detail', body);
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
  });
});

describe('conventions', () => {
  test('the caller’s X-Request-Id is used, on errors too', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    const mine = { 'x-request-id': 'mine-1' };
    const good = await call('/v1/product/list', {}, mine);
    expect([good.headers.get('x-request-id'), good.body['request_id']]).toEqual(['mine-1', 'mine-1']);
    const bad = await call('/v1/product/detail', {}, mine);
    expect(bad.headers.get('x-request-id')).toBe('mine-1');
    const unknown = await call('/v1/nothing', {});
    expect([unknown.status, unknown.body['error']]).toEqual([404, 'not_found']);
    expect(unknown.headers.get('x-request-id')).toBeTruthy();
  });

  test('a body over 1 MB answers 413 invalid_request, also without a token', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    const of = (bytes: number) => JSON.stringify({ query: 'x'.repeat(bytes - '{"query":""}'.length) });
    expect((await call('/v1/product/list', of(1_048_576))).status).toBe(200);
    const over = await call('/v1/product/list', of(1_048_577));
    expect([over.status, over.body['error']]).toEqual([413, 'invalid_request']);
    const anonymous = await fetch(`${sandbox.baseUrl}/oauth/token`, { method: 'POST', body: of(1_048_577) });
    expect((await reply(anonymous)).status).toBe(413);
  });

  test('a body must be sent as JSON', async () => {
    const call = await clientOf(await sandboxFor());
    const answer = await call('/v1/product/list', '{}', { 'content-type': 'text/plain' });
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
  });

  test('requests are counted by endpoint', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    await call('/v1/product/list');
    await call('/v1/product/list');
    expect(sandbox.requests).toEqual({ '/oauth/token': 1, '/v1/product/list': 2 });
  });
});
