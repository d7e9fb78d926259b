import { describe, expect, test } from 'vitest';
import { productListResponseSchema } from '../../src/store-api/contract/schemas.ts';
import { present } from '../shared/present.ts';
import { clientOf, sandboxFor } from './harness.ts';
import type { Client } from './harness.ts';

const ids = async (call: Client, body: unknown): Promise<string[]> =>
  ((await call('/v1/product/list', body)).body['products'] as { id: string }[]).map(({ id }) => id);

const byValue = (a: string, b: string): number => (BigInt(a) < BigInt(b) ? -1 : 1);

describe('POST /v1/product/list', () => {
  test('takes no body, and answers a first page of 20, last edited first', async () => {
    const sandbox = await sandboxFor({ products: 25 });
    const call = await clientOf(sandbox);
    const { status, body, headers } = await call('/v1/product/list', undefined, { 'content-type': '' });

    expect(status).toBe(200);
    const page = productListResponseSchema.parse(body);
    expect(page.products).toHaveLength(20);
    expect(page.has_more).toBe(true);
    expect(body).not.toHaveProperty('total');
    expect(body['request_id']).toBe(headers.get('x-request-id'));
    const newest = [...sandbox.truth.products].sort((a, b) => b.updateTimeMs - a.updateTimeMs);
    expect(page.products.map(({ id }) => id)).toEqual(newest.slice(0, 20).map(({ id }) => id));
  });

  test('shows edits, creations and deletions at once', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    const before = await ids(call, { limit: 100 });
    const { product } = sandbox.operations.createProduct();
    sandbox.operations.deleteProduct(present(before[3]));
    sandbox.operations.renameProduct(present(before.at(-1)), 'renamed');

    const after = await ids(call, { limit: 100 });
    expect(after.slice(0, 2).sort()).toEqual([product.id, present(before.at(-1))].sort());
    expect(after).not.toContain(before[3]);
    sandbox.operations.restoreProduct(present(before[3]));
    expect(await ids(call, { limit: 100 })).toContain(before[3]);
  });

  test('equal names are in order of id', async () => {
    const sandbox = await sandboxFor({ products: 40 });
    const call = await clientOf(sandbox);
    for (const { id } of sandbox.truth.products) sandbox.operations.renameProduct(id, 'same');
    const expected = sandbox.truth.products.map(({ id }) => id).sort(byValue);
    expect(await ids(call, { sort_by: 'name', sort_order: 'asc', limit: 100 })).toEqual(expected);
  });

  test('a page that ends with the last product has no more', async () => {
    const call = await clientOf(await sandboxFor());
    expect((await call('/v1/product/list', { limit: 12 })).body['has_more']).toBe(false);
    expect((await call('/v1/product/list', { limit: 11 })).body['has_more']).toBe(true);
  });

  test('pages through a large catalogue without sorting it for each page', async () => {
    const sandbox = await sandboxFor({ products: 30_000 });
    const call = await clientOf(sandbox);
    const page = (offset: number) =>
      call('/v1/product/list', { sort_by: 'name', sort_order: 'asc', limit: 100, offset });
    await page(0);
    let compared = 0;
    for (const product of sandbox.truth.products) {
      const { name } = product;
      Object.defineProperty(product, 'name', {
        get: () => {
          compared += 1;
          return name;
        },
      });
    }
    for (let offset = 0; offset < 1_000; offset += 100) await page(offset);
    // Each row's own name is read to be shown, and no other.
    expect(compared).toBe(1_000);
  });
});
