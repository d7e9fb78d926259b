/** Answers beyond the limits are refused, each by what it has too much of. */
import { expect, test } from 'vitest';
import {
  MAX_LEVELS,
  MAX_LISTED_PRODUCTS,
  MAX_TEXT_LENGTH,
  MAX_VARIANTS,
  productFault,
} from '../../src/store-api/transport/answer-limits.ts';
import { createServiceClient } from '../../src/store-api/client.ts';
import { productDetailSchema } from '../../src/store-api/contract/schemas.ts';
import { detail, T0 } from '../mirror/mirror-file.ts';

const product = (variants: number, levelsEach: number) =>
  productDetailSchema.parse(
    detail(
      '10',
      Array.from({ length: variants }, (_, n) => ({
        id: String(n + 1),
        levels: Object.fromEntries(Array.from({ length: levelsEach }, (_, w) => [String(w + 1), 5])),
      })),
    ),
  );

test('as many variants and levels as may be, and one more', () => {
  expect(productFault(product(MAX_VARIANTS, MAX_LEVELS / MAX_VARIANTS))).toBeNull();
  expect(productFault(product(MAX_VARIANTS + 1, 0))).toBe(
    `product 10 has ${MAX_VARIANTS + 1} variants; at most ${MAX_VARIANTS} are read`,
  );
  expect(productFault(product(1, MAX_LEVELS + 1))).toBe(
    `product 10 has ${MAX_LEVELS + 1} stock levels; at most ${MAX_LEVELS} are read`,
  );
});

test('the client refuses such a page and such a product by name', async () => {
  const rows = Array.from({ length: MAX_LISTED_PRODUCTS + 1 }, (_, n) => ({ id: String(n + 1), name: 'x' }));
  const answers = {
    '/v1/product/list': { products: rows, has_more: false },
    '/v1/product/detail': {
      product: detail('10', [{ id: '1', levels: {} }], { description: 'x'.repeat(300_000) }),
    },
  };
  const client = createServiceClient({
    transport: ({ endpoint }) =>
      Promise.resolve({
        status: 200,
        headers: {},
        body: Buffer.from(JSON.stringify(answers[endpoint as keyof typeof answers])),
        sentAtMs: T0,
        receivedAtMs: T0,
        serverDateMs: null,
      }),
    tokens: { getToken: () => Promise.resolve('token'), invalidate: () => undefined },
    clientSecret: 'secret',
    newRequestId: () => 'r',
    close: () => Promise.resolve(),
  });
  await expect(client.listProducts()).rejects.toMatchObject({
    kind: 'contract',
    description: `a page of ${MAX_LISTED_PRODUCTS + 1} products; at most ${MAX_LISTED_PRODUCTS} are read`,
  });
  await expect(client.productDetail('10')).rejects.toMatchObject({
    kind: 'contract',
    description: `the answer has a text of more than ${MAX_TEXT_LENGTH} characters`,
  });
});
