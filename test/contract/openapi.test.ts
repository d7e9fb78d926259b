/** The service's own description: valid, whole, and the same as what the store's own description says. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { fetchDocument, schemaAt } from './openapi.ts';

type Responses = Record<string, { headers: object; content: object }>;
type Operation = {
  operationId: string;
  security: object[];
  parameters: { name: string; in: string; required: boolean }[];
  requestBody: { required: boolean; content: object };
  responses: Responses;
};
type Document = {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, { properties: object; required: string[] }> };
};

let sandbox: Sandbox;
let document: Document;
beforeAll(async () => {
  sandbox = await startSandbox({ products: 1 });
  document = (await fetchDocument(sandbox.baseUrl)) as Document;
});
afterAll(() => sandbox.stop());

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
/** "Endpoints", "Limits" and the "Errors" table, read from the document by hand. */
const EVERY = { '413': ['invalid_request'], '500': ['server_error'] };
const EVERY_V1 = { '200': [], '400': ['invalid_request'], '401': ['invalid_token'], ...EVERY };
const DOCUMENTED: Record<string, { body: string; required: boolean; answers: Record<string, string[]> }> = {
  '/oauth/token': {
    body: FORM_TYPE,
    required: true,
    answers: {
      '200': [],
      '400': ['invalid_request', 'unsupported_grant_type'],
      '401': ['invalid_client'],
      '429': ['slow_down'],
      ...EVERY,
    },
  },
  '/v1/order/create': {
    body: JSON_TYPE,
    required: true,
    answers: { ...EVERY_V1, '403': ['access_denied', 'quota_exceeded'] },
  },
  '/v1/order/detail': {
    body: JSON_TYPE,
    required: true,
    answers: { ...EVERY_V1, '403': ['access_denied'], '404': ['not_found'] },
  },
  '/v1/store/address/list': {
    body: JSON_TYPE,
    required: false,
    answers: { ...EVERY_V1, '403': ['access_denied'] },
  },
  '/v1/product/list': { body: JSON_TYPE, required: false, answers: EVERY_V1 },
  '/v1/product/detail': {
    body: JSON_TYPE,
    required: true,
    answers: { ...EVERY_V1, '404': ['not_found'] },
  },
};
const EVERY_CODE = [
  ...new Set(Object.values(DOCUMENTED).flatMap(({ answers }) => Object.values(answers).flat())),
];

/** "Resources and their fields", "Endpoints", "Events" and "Errors", read by hand: what is required, and the rest. */
const ADDRESS =
  'telephone address1 address2 address3 sub_district district province postal_code email note ' +
  'legal_entity_id legal_entity_type branch_type branch_number';
const FIELDS: Record<string, readonly [required: string, others: string]> = {
  Address: ['name', ADDRESS],
  OrderAddress: ['id name', ADDRESS],
  StoreAddress: ['id name is_primary', ADDRESS],
  CreateOrderProduct: ['qty', 'product_variant_id sku price'],
  CreateOrder: [
    'shipping_type products',
    'recipient_address recipient_address_id external_order_id is_cod cod_fee cod_amount sender_name ' +
      'sender_address_id channel discount shipping_fee other_fee ship_before_pay auto_request_xshipping ' +
      'shipping_label_note private_note order_time expiration_time ship_deadline_time',
  ],
  Order: ['id', 'external_order_id shipments recipient_address'],
  Product: ['id name', 'image_url'],
  ProductDetail: [
    'id name description store_id img_uris thumbnail_uris tiny_img_uris variants',
    'create_time update_time category price_tier_ids pg_vd_ids warehouse_ids shipping_rates ' +
      'seller_shipping_rates min max parent_id has_child',
  ],
  ProductShippingRate: ['id shipping_type is_cod init_qty init_price next_price', 'create_time update_time'],
  ProductVariantDetail: [
    'product_variant_id name available_qty weight',
    'create_time update_time img_url thumbnail_url tiny_img_url sku upc pulled_from_product_variant_id ' +
      'product_bundle_id bundled_pp_count bundled_sum_qty bundled_by_count product_assembly_id ' +
      'assembled_pp_count assembled_sum_qty allow_negative_stock prices cost on_hand reserved_qty warehouses',
  ],
  StockChange: ['id sku old new warehouse_id update_time reason', 'order_id user_id'],
  Token: ['access_token token_type expires_in', ''],
  TokenRequest: ['grant_type client_id client_secret', ''],
  Error: ['error', 'error_description'],
};

test.each(Object.entries(FIELDS))('%s has the documented fields', (name, [required, others]) => {
  const words = (text: string) => text.split(' ').filter((word) => word !== '');
  const schema = present(document.components.schemas[name]);
  expect(schema.required.toSorted()).toEqual(words(required).sort());
  expect(Object.keys(schema.properties).sort()).toEqual(words(`${required} ${others}`).sort());
});

test('nothing in an answer may be null, and what a request may leave out may be', () => {
  const REQUESTS = ['Address', 'CreateOrder', 'CreateOrderProduct'];
  const withNull = Object.entries(document.components.schemas)
    .filter(([, schema]) => JSON.stringify(schema).includes('"null"'))
    .map(([name]) => name);
  expect(withNull.sort()).toEqual(REQUESTS);
  const answers = Object.values(document.paths).map(({ post }) => present(post).responses);
  expect(JSON.stringify([answers, document.webhooks])).not.toContain('"null"');
});

test('is a valid OpenAPI 3.1 document', async () => {
  const validator = new Validator();
  expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
});

test('is served with the address that it was asked at', async () => {
  const response = await fetch(`${sandbox.baseUrl}/openapi.json`, { headers: { 'x-request-id': 'asked' } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^application\/json\b/);
  expect(response.headers.get('x-request-id')).toBe('asked');
  expect(await response.json()).toEqual(document);
  expect(document.servers).toEqual([{ url: sandbox.baseUrl }]);
});

test('every endpoint of the service is in it, and nothing else', () => {
  const served = sandbox.api.routes
    // The others are the sandbox's own: how people steer it, and this document.
    .filter(({ path }) => /^\/(oauth|v1)\//.test(path))
    .map(({ method, path }) => `${method} ${path}`);
  const described = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(served.sort()).toEqual(described.sort());
  expect(described).toEqual(
    Object.keys(DOCUMENTED)
      .map((path) => `POST ${path}`)
      .sort(),
  );
});

describe.each(Object.entries(DOCUMENTED))('POST %s', (path, { body, required, answers }) => {
  const operation = () => present(document.paths[path]?.['post']);

  test('takes the documented body, with a token or without', () => {
    const { requestBody, security, parameters } = operation();
    expect(Object.keys(requestBody.content)).toEqual([body]);
    expect(requestBody.required).toBe(required);
    expect(security).toEqual(path === '/oauth/token' ? [] : [{ accessToken: [] }]);
    expect(parameters).toMatchObject([{ name: 'X-Request-Id', in: 'header', required: false }]);
  });

  test('has the documented statuses, each with its codes and no other', () => {
    const { responses } = operation();
    expect(Object.keys(responses).sort()).toEqual(Object.keys(answers).sort());
    for (const [status, codes] of Object.entries(answers)) {
      if (status === '200') continue;
      const pointer = ['paths', path, 'post', 'responses', status, 'content', JSON_TYPE, 'schema'];
      const takes = schemaAt(document, pointer);
      const taken = [...EVERY_CODE, 'other'].filter((error) => takes({ error, error_description: 'text' }));
      expect([status, taken.sort()]).toEqual([status, [...codes].sort()]);
      expect(takes({ error: codes[0], error_description: 1 })).toBe(false);
      expect(takes({ error_description: 'text' })).toBe(false);
    }
  });

  test('every answer has its X-Request-Id, and a 429 its Retry-After', () => {
    for (const [status, { headers }] of Object.entries(operation().responses)) {
      expect(headers).toMatchObject({ 'X-Request-Id': { required: true } });
      if (status === '429') expect(headers).toMatchObject({ 'Retry-After': { required: true } });
      else expect(headers).not.toHaveProperty('Retry-After');
    }
  });
});

test('the webhook is in it, with its signature', () => {
  expect(Object.keys(document.webhooks)).toEqual(['stock_available_updated']);
  const { parameters, responses, security } = present(document.webhooks['stock_available_updated']).post;
  expect(parameters).toMatchObject([
    { name: 'X-Service-Signature', in: 'header', required: true },
    { name: 'User-Agent', in: 'header', required: true },
  ]);
  expect(Object.keys(responses)).toEqual(['2XX']);
  expect(security).toEqual([]);
});

test('names of operations are used once', () => {
  const names = Object.values(document.paths).flatMap((item) =>
    Object.values(item).map(({ operationId }) => operationId),
  );
  expect(new Set(names).size).toBe(names.length);
});
