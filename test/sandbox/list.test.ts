import { describe, expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { clientOf, sandboxFor } from './harness.ts';
import type { Client } from './harness.ts';

const ids = async (call: Client, body: unknown): Promise<string[]> =>
  ((await call('/v1/product/list', body)).body['products'] as { id: string }[]).map(({ id }) => id);

describe('POST /v1/product/list', () => {
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
