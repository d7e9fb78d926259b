/** The package's client with real sockets and real pauses. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createClient, type ClientOptions } from '../../src/client.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { SECRET } from './connection.ts';
import { sendError, sendJson, startStubService } from './stub-service.ts';

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

test('reads all pages and retries each failed one', async () => {
  const { service, client } = await connected({ retry: { baseMs: 10 } });
  service.answer('/v1/product/list', (response, _request, nth) => {
    if (nth % 2 === 1) return sendError(response, 500, 'server_error');
    const products = nth === 2 ? ['1', '2'] : ['2', '3'];
    sendJson(response, 200, { products: products.map((id) => ({ id, name: '' })), has_more: nth === 2 });
  });
  const ids: string[] = [];
  for await (const { id } of client.allProducts()) ids.push(id);
  expect(ids).toEqual(['1', '2', '3']);
  expect(service.to('/v1/product/list')).toHaveLength(4);
});

test('warns of a token file that cannot be written and continues', async () => {
  const warnings = warningsOf('TokenFileWarning');
  const { service, client } = await connected({
    tokenFilePath: join(temporaryFolder(), 'absent/token.json'),
  });
  service.answer('/v1/store/address/list', (response) =>
    sendJson(response, 200, { addresses: [], has_more: false }),
  );
  await client.listAddresses();
  await expect.poll(() => warnings.length).toBeGreaterThan(0);
});

function warningsOf(name: string): Error[] {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => {
    if (warning.name === name) warnings.push(warning);
  };
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  return warnings;
}

test('takes undefined options for absent ones', async () => {
  const { service, client } = await connected({
    tokenFilePath: undefined,
    maxConcurrency: undefined,
    onTokenFileError: undefined,
    retry: { attempts: undefined, baseMs: 10, capMs: undefined, maxWaitMs: undefined },
    limits: { deadlineMs: undefined, maxAnswerBytes: undefined },
  });
  service.answer(DETAIL, (response, _request, nth) =>
    nth < 4 ? response.destroy() : sendJson(response, 200, { order: { id: '900' } }),
  );
  await client.orderDetail({ order_id: '900' }, { signal: undefined });
  expect(service.to(DETAIL)).toHaveLength(4);
});

test('keeps the token in memory of one client without a token file', async () => {
  const service = await startStubService();
  service.answer(DETAIL, (response) => sendJson(response, 200, { order: { id: '900' } }));
  const options = { baseUrl: service.baseUrl, clientId: 'client-7', clientSecret: SECRET };
  const clients = [createClient(options), createClient(options)];
  onTestFinished(async () => {
    for (const client of clients) await client.close();
  });
  for (const client of [...clients, ...clients]) await client.orderDetail({ order_id: '900' });
  expect(service.to('/oauth/token')).toHaveLength(2);
});

test.each([
  ['localhost:8790', 'baseUrl must begin with http:// or https://, as in https://store.example'],
  ['store.example', 'baseUrl must begin with http:// or https://, as in https://store.example'],
  ['http://', 'baseUrl is not a URL: give one such as https://store.example'],
  ['http://a:b@store.example', 'baseUrl must not hold credentials'],
])('refuses the address %s with its reason', (baseUrl, words) => {
  expect(() => createClient({ baseUrl, clientId: 'a', clientSecret: 'b' })).toThrow(new TypeError(words));
});
