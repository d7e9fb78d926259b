/** Whatever the document lets the service say, the client understands, and loses nothing of it. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import {
  addressListResponseSchema,
  orderResponseSchema,
} from '../../src/store-api/contract/order-schemas.ts';
import {
  errorResponseSchema,
  productDetailResponseSchema,
  productListResponseSchema,
  stockItemSchema,
  tokenResponseSchema,
  webhookEnvelopeSchema,
} from '../../src/store-api/contract/schemas.ts';
import { documentedValues } from './documented-values.ts';
import { fetchDocument } from './openapi.ts';

const RUNS = 150;

let sandbox: Sandbox;
let document: object;
beforeAll(async () => {
  sandbox = await startSandbox({ products: 0 });
  document = await fetchDocument(sandbox.baseUrl);
});
afterAll(() => sandbox.stop());

const READ_BY: Readonly<Record<string, z.ZodType>> = {
  '/oauth/token': tokenResponseSchema,
  '/v1/order/create': orderResponseSchema,
  '/v1/order/detail': orderResponseSchema,
  '/v1/store/address/list': addressListResponseSchema,
  '/v1/product/list': productListResponseSchema,
  '/v1/product/detail': productDetailResponseSchema,
};
const JSON_SCHEMA = ['content', 'application/json', 'schema'];

test.each(Object.entries(READ_BY))('the 200 of %s', (path, schema) => {
  check(['paths', path, 'post', 'responses', '200', ...JSON_SCHEMA], (answer) => {
    expect(schema.parse(answer)).toEqual(answer);
  });
});

test('every 200 is read here', () => {
  const { paths } = document as { paths: object };
  expect(Object.keys(READ_BY).sort()).toEqual(Object.keys(paths).sort());
});

test('every error', () => {
  const { paths } = document as { paths: Record<string, { post: { responses: object } }> };
  for (const [path, { post }] of Object.entries(paths)) {
    for (const status of Object.keys(post.responses).filter((each) => each !== '200')) {
      check(['paths', path, 'post', 'responses', status, ...JSON_SCHEMA], (answer) => {
        expect(errorResponseSchema.parse(answer)).toEqual({ error_description: '', ...(answer as object) });
      });
    }
  }
});

test('stock_available_updated', () => {
  check(['webhooks', 'stock_available_updated', 'post', 'requestBody', ...JSON_SCHEMA], (body) => {
    const envelope = webhookEnvelopeSchema.parse(body);
    expect(envelope).toEqual(body);
    for (const item of envelope.data['items'] as object[]) {
      expect(stockItemSchema.parse(item)).toEqual(item);
    }
  });
});

function check(pointer: readonly string[], holds: (value: unknown) => void): void {
  fc.assert(fc.property(documentedValues(document, pointer), holds), { numRuns: RUNS });
}
