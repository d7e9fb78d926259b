import { describe, expect, test } from 'vitest';
import { productDetailResponseSchema } from '../../src/store-api/contract/schemas.ts';
import { present } from '../shared/present.ts';
import { levelOf, clientOf, sandboxFor, variantOf } from './harness.ts';
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
      expect(
        present(products.find((product) => 'shipping_rates' in product))['shipping_rates'],
      ).toMatchObject([
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
    sandbox.operations.reserve([{ ...levelOf(variant), qty: 1 }]);

    const [shown] = (await detail(call, variant.product.id)).variants.filter(
      (each) => each['product_variant_id'] === variant.id,
    );
    const warehouses = present(shown)['warehouses'] as Record<string, number>[];
    expect(warehouses).toHaveLength(variant.levels.length);
    for (const level of warehouses) {
      expect(level['available_qty']).toBe(present(level['on_hand']) - present(level['reserved_qty']));
    }
    const sum = (field: string) => warehouses.reduce((total, level) => total + present(level[field]), 0);
    expect(shown).toMatchObject({
      available_qty: sum('available_qty'),
      on_hand: sum('on_hand'),
      reserved_qty: 1,
    });
  });

  test('an assembled variant holds its own stock', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    const variant = variantOf(sandbox, 'assembled');
    const [shown] = (await detail(call, variant.product.id)).variants;
    expect(shown).toMatchObject({
      product_assembly_id: variant.compositionId,
      assembled_pp_count: variant.components.length,
      warehouses: [expect.objectContaining({ wh_id: present(variant.levels[0]).warehouseId })],
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
});

describe('conventions', () => {
  test('requests are counted by endpoint', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    await call('/v1/product/list');
    await call('/v1/product/list');
    expect(sandbox.requests).toEqual({ '/oauth/token': 1, '/v1/product/list': 2 });
  });
});
