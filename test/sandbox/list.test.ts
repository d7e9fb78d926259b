import { describe, expect, test } from 'vitest';
import { productListResponseSchema } from '../../src/service/schemas.ts';
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

  test('by id, its pages have every product exactly once', async () => {
    const sandbox = await sandboxFor({ products: 53 });
    const call = await clientOf(sandbox);
    const seen: string[] = [];
    for (let offset = 0; ; offset += 10) {
      const { body } = await call('/v1/product/list', {
        sort_by: 'id',
        sort_order: 'asc',
        limit: 10,
        offset,
      });
      seen.push(...(body['products'] as { id: string }[]).map(({ id }) => id));
      if (body['has_more'] !== true) break;
    }
    expect(seen).toEqual(sandbox.truth.products.map(({ id }) => id).sort(byValue));
    expect(await ids(call, { sort_by: 'id', sort_order: 'desc', limit: 100 })).toEqual(seen.toReversed());
  });

  test.each([
    ['name', (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)],
    [
      'create_time',
      (a: { createTimeMs: number }, b: { createTimeMs: number }) => a.createTimeMs - b.createTimeMs,
    ],
  ] as const)('sorts by %s', async (sortBy, compare) => {
    const sandbox = await sandboxFor({ products: 20 });
    const call = await clientOf(sandbox);
    const expected = [...sandbox.truth.products].sort(compare).map(({ id }) => id);
    expect(await ids(call, { sort_by: sortBy, sort_order: 'asc', limit: 100 })).toEqual(expected);
  });

  test('finds names that contain the query in any case, and counts them on request', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    for (const name of ['Blue LAMP', 'lamp shade', 'เสื้อ']) sandbox.operations.createProduct({ name });
    const { body } = await call('/v1/product/list', { query: 'Lamp ', get_count: true });
    expect((body['products'] as { name: string }[]).map(({ name }) => name)).toContain('lamp shade');

    const all = await call('/v1/product/list', { query: 'LAMP', limit: 1, get_count: true });
    const matching = sandbox.truth.products.filter(({ name }) => /lamp/i.test(name)).length;
    expect(all.body).toMatchObject({ total: matching, has_more: true });
    expect(matching).toBeGreaterThanOrEqual(2);
  });

  test('shows edits, creations and deletions at once', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    const before = await ids(call, { limit: 100 });
    const { product } = sandbox.operations.createProduct();
    sandbox.operations.deleteProduct(before[3]!);
    sandbox.operations.renameProduct(before.at(-1)!, 'renamed');

    const after = await ids(call, { limit: 100 });
    expect(after.slice(0, 2).sort()).toEqual([product.id, before.at(-1)!].sort());
    expect(after).not.toContain(before[3]);
    sandbox.operations.restoreProduct(before[3]!);
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

  test('an offset beyond the end is an empty last page', async () => {
    const call = await clientOf(await sandboxFor());
    const { body } = await call('/v1/product/list', { offset: 1_000 });
    expect(body).toMatchObject({ products: [], has_more: false });
  });

  test.each([
    [{ limit: 0 }, 'limit'],
    [{ limit: 101 }, 'limit'],
    [{ limit: 2.5 }, 'limit'],
    [{ limit: '20' }, 'limit'],
    [{ offset: -1 }, 'offset'],
    [{ sort_by: 'price' }, 'sort_by'],
    [{ sort_order: 'up' }, 'sort_order'],
    [{ get_count: 1 }, 'get_count'],
    [{ query: 7 }, 'query'],
    [{ store_id: '1' }, 'store_id'],
    [{ page: null }, 'page'],
  ])('refuses %j, naming the field', async (body, field) => {
    const call = await clientOf(await sandboxFor());
    const answer = await call('/v1/product/list', body);
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
    expect(answer.body['error_description']).toContain(field);
  });

  test('takes null for absent', async () => {
    const call = await clientOf(await sandboxFor());
    const { status, body } = await call('/v1/product/list', { limit: null, query: null, sort_by: null });
    expect(status).toBe(200);
    expect(body['products']).toHaveLength(12);
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
