import { describe, expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { clientOf, sandboxFor } from './harness.ts';
import type { Client } from './harness.ts';

async function detail(call: Client, productId: string) {
  const { body } = await call('/v1/product/detail', { product_id: productId });
  return body['product'] as { id: string; variants: Record<string, unknown>[] } & Record<string, unknown>;
}

describe('POST /v1/product/detail', () => {
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
