import { expect, test } from 'vitest';
import { sandboxFor } from './harness.ts';

test('uses ids too large for a number', async () => {
  const { truth } = await sandboxFor({ products: 40 });
  const ids = truth.products.flatMap(({ id, variants }) => [id, ...variants.map((each) => each.id)]);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(ids.map(Number)).size).toBeLessThan(ids.length);
});
