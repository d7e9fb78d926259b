import { beforeEach, expect, test } from 'vitest';
import { VariantCache } from '../../../src/mirror/writer/variant-cache.ts';

let cache: VariantCache;
beforeEach(() => {
  cache = new VariantCache();
});

/** As deliveries do, which come again, or as reads do, which go through everything once. */
function touch(by: 'delivery' | 'read', ...variantIds: string[]) {
  cache.keeps = by === 'delivery';
  return variantIds.map((id) => cache.of(id));
}

const many = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

test('what a delivery touches is kept beyond its transaction', () => {
  const [first] = touch('delivery', '1');
  cache.age();
  expect(touch('delivery', '1')[0]).toBe(first);
});

test('a scan of the catalogue pushes nothing out that deliveries touch', () => {
  const [first] = touch('delivery', '1');
  for (let transaction = 0; transaction < 10; transaction += 1) {
    touch('read', '1', ...many(`scan ${transaction} `, 2_000));
    cache.age();
  }
  expect(touch('delivery', '1')[0]).toBe(first);
});

test('what no delivery touches among thousands of others is let go', () => {
  const [first] = touch('delivery', '1');
  for (const generation of ['a', 'b']) {
    touch('delivery', ...many(generation, 2_048));
    cache.age();
  }
  expect(touch('delivery', '1')[0]).not.toBe(first);
});

test('after a rollback nothing is known, of reads or deliveries', () => {
  const before = [...touch('delivery', '1'), ...touch('read', '2')];
  cache.clear();
  for (const [n, variant] of touch('delivery', '1', '2').entries()) expect(variant).not.toBe(before[n]);
});
