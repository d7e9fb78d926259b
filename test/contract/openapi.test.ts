/** The store's OpenAPI document. `raw.ts` checks each answer of the other tests against it. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { sandboxFor } from '../sandbox/harness.ts';
import { checkAnswer, ContractError, STORE_API } from './openapi.ts';

test('is a valid OpenAPI 3.1 document', async () => {
  const validator = new Validator();
  expect(await validator.validate({ ...STORE_API })).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
});

test('describes exactly the endpoints served', async () => {
  const { api } = await sandboxFor({ products: 0 });
  const { paths } = STORE_API as { paths: Record<string, object> };
  const served = api.routes
    .filter(({ path }) => /^\/(oauth|v1)\//.test(path))
    .map(({ method, path }) => `${method} ${path}`);
  const described = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(served.toSorted()).toEqual(described.toSorted());
});

const right = {
  method: 'POST',
  path: '/v1/product/list',
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'r' },
  body: { request_id: 'r', products: [{ id: '1', name: 'Lamp' }], has_more: false },
};

test.each([
  ['an undocumented status', { status: 204 }, 'the status is not documented'],
  ['no request id', { headers: { 'content-type': 'application/json' } }, 'header X-Request-Id is missing'],
  ['an id that is a number', { body: { ...right.body, products: [{ id: 1, name: '' }] } }, '/products/0/id'],
])('detects an answer with %s', (_, wrong, named) => {
  checkAnswer(STORE_API, right);
  const check = () => {
    checkAnswer(STORE_API, { ...right, ...wrong });
  };
  expect(check).toThrow(ContractError);
  expect(check).toThrow(named);
});
