/** What the simulated service takes is what its document says that it takes, for any body. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { parseJsonBody } from '../../src/sandbox/api/request-body.ts';
import { ApiError } from '../../src/sandbox/shared/errors.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { tokenRequestSchema } from '../../src/sandbox/api/token-endpoint.ts';
import {
  addressListRequestSchema,
  createOrderRequestSchema,
  orderDetailRequestSchema,
} from '../../src/store-api/contract/order-schemas.ts';
import {
  productDetailRequestSchema,
  productListRequestSchema,
} from '../../src/store-api/contract/schemas.ts';
import { changedBodies, changedOnce } from './bodies.ts';
import type { Json, Place } from './bodies.ts';
import { fetchDocument, schemaAt } from './openapi.ts';

const RUNS = 3_000;

let sandbox: Sandbox;
let document: object;
beforeAll(async () => {
  sandbox = await startSandbox({ products: 0 });
  document = await fetchDocument(sandbox.baseUrl);
});
afterAll(() => sandbox.stop());

const line = { sku: 'A', qty: 1, price: '1.50' };
const address = { name: 'a', postal_code: 10_500, email: 'a@b', branch_type: 'h', legal_entity_type: 1 };
const order = { shipping_type: 'ems', products: [line, { product_variant_id: '7', qty: 2 }] };

type Case = {
  readonly path: string;
  readonly schema: z.ZodObject;
  readonly right: readonly { [key: string]: Json }[];
  /** Fields of what is in the body. */
  readonly inner?: readonly Place[];
};
const LINE_FIELDS = ['sku', 'product_variant_id', 'qty', 'price'];
const CASES: readonly Case[] = [
  {
    path: '/v1/order/create',
    schema: createOrderRequestSchema,
    right: [
      { ...order, recipient_address: address },
      { ...order, recipient_address_id: '5', is_cod: true, cod_fee: 1, cod_amount: '2.5' },
      { ...order, recipient_address_id: '5', discount: 0, order_time: 1_769_000_000_000, private_note: 'x' },
    ],
    inner: [
      ...LINE_FIELDS.map((field) => ['products', 0, field]),
      ...LINE_FIELDS.map((field) => ['products', 1, field]),
      ...Object.keys(address).map((field) => ['recipient_address', field]),
    ],
  },
  {
    path: '/v1/order/detail',
    schema: orderDetailRequestSchema,
    right: [{ order_id: '1' }, { external_order_id: 'a' }],
  },
  {
    path: '/v1/store/address/list',
    schema: addressListRequestSchema,
    right: [{}, { limit: 1, offset: 0 }],
  },
  {
    path: '/v1/product/list',
    schema: productListRequestSchema,
    right: [{}, { limit: 1, offset: 0, sort_by: 'name' }],
  },
  { path: '/v1/product/detail', schema: productDetailRequestSchema, right: [{ product_id: '1' }] },
];

test.each(CASES)('POST $path', ({ path, schema, right, inner = [] }) => {
  const documented = schemaAt(document, bodyOf(path, 'application/json'));
  const fields = [...Object.keys(schema.shape).map((field) => [field]), ...inner];
  const seen = { taken: 0, refused: 0 };
  const agree = (body: Json): void => {
    const sent = JSON.stringify(body);
    const isTaken = takes(schema, sent);
    seen[isTaken ? 'taken' : 'refused'] += 1;
    // Not by `expect`, which is too slow for so many.
    if (documented(JSON.parse(sent)) !== isTaken) {
      throw new Error(`the service ${isTaken ? 'takes' : 'refuses'} what its document does not: ${sent}`);
    }
  };
  for (const body of changedOnce(right, fields)) agree(body);

  const bodies = fc.oneof(
    { arbitrary: changedBodies(right, fields), weight: 50 },
    { arbitrary: fc.jsonValue() as fc.Arbitrary<Json>, weight: 1 },
  );
  fc.assert(fc.property(bodies, agree), { numRuns: RUNS });
  // Agreeing on one kind alone would say nothing.
  expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(100);
});

test('POST /oauth/token', () => {
  const documented = schemaAt(document, bodyOf('/oauth/token', 'application/x-www-form-urlencoded'));
  const right = { grant_type: 'client_credentials', client_id: 'a', client_secret: 'b' };
  const fields = Object.keys(right).map((field) => [field]);
  const agree = (form: Json): void => {
    expect(documented(form)).toBe(tokenRequestSchema.safeParse(form).success);
  };
  for (const form of changedOnce([right], fields)) agree(form);
  fc.assert(fc.property(changedBodies([right], fields), agree), { numRuns: 500 });
});

test('every request body is held against its document here', () => {
  const { paths } = document as { paths: object };
  expect([...CASES.map(({ path }) => path), '/oauth/token'].sort()).toEqual(Object.keys(paths).sort());
});

/** As the service itself does, from the bytes on. */
function takes(schema: z.ZodObject, body: string): boolean {
  try {
    parseJsonBody(Buffer.from(body), 'application/json', schema, { optional: false });
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return false;
    throw error;
  }
}

function bodyOf(path: string, mediaType: string): string[] {
  return ['paths', path, 'post', 'requestBody', 'content', mediaType, 'schema'];
}
