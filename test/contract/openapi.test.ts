/** The store's OpenAPI document. `raw.ts` checks each answer of the other tests against it. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { sandboxFor } from '../sandbox/harness.ts';
import { STORE_API } from './openapi.ts';

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
