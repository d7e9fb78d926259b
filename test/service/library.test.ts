/** The package's client as a partner's program has it: real sockets, real pauses, the documented example. */
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createClient } from '../../src/client.ts';
import type { ClientOptions } from '../../src/client.ts';
import { SECRET, failureOf, temporaryFolder } from './connection.ts';
import { runOrderProgram } from './documented-program.ts';
import { sendError, sendJson, startStubService } from './stub-service.ts';

const CREATE = '/v1/order/create';
const DETAIL = '/v1/order/detail';

async function connected(over: Partial<ClientOptions> = {}) {
  const service = await startStubService();
  const client = createClient({
    baseUrl: service.baseUrl,
    clientId: 'client-7',
    clientSecret: SECRET,
    tokenFilePath: join(temporaryFolder(), 'token.json'),
    ...over,
  });
  onTestFinished(() => client.close());
  return { service, client };
}

test('the documented program creates an order by SKU, and reads it until it has a shipment', async () => {
  const service = await startStubService();
  service.answer(CREATE, (response, _request, nth) => {
    // With an external_order_id this is not the end.
    if (nth === 1) sendError(response, 500, 'server_error');
    else sendJson(response, 200, { request_id: 'r', order: { id: '900' } });
  });
  const shipments = [{ tracking_number: 'TH01' }];
  service.answer(DETAIL, (response, _request, nth) =>
    sendJson(response, 200, { request_id: 'r', order: { id: '900', ...(nth > 1 && { shipments }) } }),
  );
  const stdout = await runOrderProgram(temporaryFolder(), {
    SERVICE_BASE_URL: service.baseUrl,
    SERVICE_CLIENT_ID: 'client-7',
    SERVICE_CLIENT_SECRET: SECRET,
  });

  expect(stdout).toBe("[ { tracking_number: 'TH01' } ]\n");
  expect(service.requests.map(({ path }) => path)).toEqual(['/oauth/token', CREATE, CREATE, DETAIL, DETAIL]);
  expect(JSON.parse(service.to(CREATE)[0]?.body ?? '')).toMatchObject({
    products: [{ sku: 'TS-RED-M', qty: 2 }],
  });
});

test('goes through all pages, each tried again when it fails', async () => {
  const { service, client } = await connected({ retry: { baseMs: 10 } });
  service.answer('/v1/product/list', (response, _request, nth) => {
    if (nth % 2 === 1) return sendError(response, 500, 'server_error');
    const products = nth === 2 ? ['1', '2'] : ['2', '3'];
    sendJson(response, 200, { products: products.map((id) => ({ id, name: '' })), has_more: nth === 2 });
  });
  service.answer('/v1/store/address/list', (response) =>
    sendJson(response, 200, { addresses: [{ id: '5', name: 'a', is_primary: true }], has_more: false }),
  );

  const ids: string[] = [];
  for await (const { id } of client.allProducts()) ids.push(id);
  for await (const { id } of client.allAddresses()) ids.push(id);

  expect(ids).toEqual(['1', '2', '3', '5']);
  expect(service.to('/v1/product/list')).toHaveLength(4);
});

test('tries once where told', async () => {
  const { service, client } = await connected({ retry: { attempts: 1 } });
  service.answer(DETAIL, (response) => sendError(response, 500, 'server_error'));

  expect(await failureOf(client.orderDetail({ order_id: '900' }))).toMatchObject({ kind: 'unavailable' });
  expect(service.to(DETAIL)).toHaveLength(1);
});

test('closing ends a pause between two attempts', async () => {
  // Over one connection, so that the second call is answered when the first has failed and is waiting.
  const { service, client } = await connected({
    maxConcurrency: 1,
    retry: { baseMs: 1_000_000, capMs: 1_000_000 },
  });
  service.answer(DETAIL, (response) => sendError(response, 500, 'server_error'));
  service.answer('/v1/store/address/list', (response) =>
    sendJson(response, 200, { addresses: [], has_more: false }),
  );

  const failure = failureOf(client.orderDetail({ order_id: '900' }));
  await client.listAddresses();
  await client.close();

  const error = await failure;
  expect(error.kind).toBe('aborted');
  expect(error.description).toMatch(/^aborted while waiting to try again/);
});

test('asks nothing more with refused credentials, until they are released', async () => {
  const { service, client } = await connected();
  service.answer('/oauth/token', (response) => sendError(response, 401, 'invalid_client'));

  for (const _ of [1, 2])
    expect(await failureOf(client.listAddresses())).toMatchObject({ kind: 'credentials' });
  expect(service.requests).toHaveLength(1);
  await client.releaseLatch();
  expect(await failureOf(client.listAddresses())).toMatchObject({ kind: 'credentials' });
  expect(service.requests).toHaveLength(2);
});

test('warns of a token file that cannot be written, and goes on', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const { service, client } = await connected({
    tokenFilePath: join(temporaryFolder(), 'absent/token.json'),
  });
  service.answer('/v1/store/address/list', (response) =>
    sendJson(response, 200, { addresses: [], has_more: false }),
  );

  await client.listAddresses();

  await vi.waitFor(() => expect(warnings.map(({ name }) => name)).toContain('TokenFileWarning'));
});
