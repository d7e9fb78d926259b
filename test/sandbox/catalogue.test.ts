import { expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { clientOf, sandboxFor } from './harness.ts';
import type { Client } from './harness.ts';

const ids = async (call: Client, body: unknown): Promise<string[]> =>
  ((await call('/v1/product/list', body)).body['products'] as { id: string }[]).map(({ id }) => id);

test('the list shows edits, creations and deletions at once', async () => {
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

test('uses ids too large for a number', async () => {
  const { truth } = await sandboxFor({ products: 40 });
  const ids = truth.products.flatMap(({ id, variants }) => [id, ...variants.map((each) => each.id)]);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(ids.map(Number)).size).toBeLessThan(ids.length);
});
