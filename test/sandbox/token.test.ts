import { expect, test } from 'vitest';
import { clientOf, manualTime, sandboxFor } from './harness.ts';

test('a token ends with the lifetime that is set', async () => {
  const time = manualTime();
  const sandbox = await sandboxFor({ now: time.now, timers: time.timers, tokenLifetimeS: 60 });
  const call = await clientOf(sandbox);
  time.advance(59_999);
  expect((await call('/v1/product/list')).status).toBe(200);
  time.advance(1);
  expect((await call('/v1/product/list')).body['error']).toBe('invalid_token');
});
