/** Reads through the proxy of HTTP_PROXY and HTTPS_PROXY. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { describeProxy } from '../../src/platform/proxy.ts';
import { connect, connected, failureOf } from './connection.ts';
import { sendJson } from './stub-service.ts';

const page = { products: [], has_more: false };

/** Answers every forwarded request itself, and closes every tunnel. */
async function startProxy() {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const token = { access_token: 't', token_type: 'Bearer', expires_in: 14_400 };
    sendJson(response, 200, request.url?.endsWith('/oauth/token') === true ? token : page);
  });
  server.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url}`);
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const name of ['http_proxy', 'https_proxy', 'no_proxy', 'NO_PROXY']) vi.stubEnv(name, undefined);
  vi.stubEnv('HTTP_PROXY', url);
  vi.stubEnv('HTTPS_PROXY', url.replace('//', '//user:secret@'));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    server.close();
    server.closeAllConnections();
  });
  return { url, seen };
}

test('reads through the proxy within the limits', async () => {
  const { seen } = await startProxy();
  const baseUrl = 'http://store.test';
  expect(await connect({ baseUrl }).client.listProducts()).toMatchObject({ page });
  expect(seen).toEqual(['POST http://store.test/oauth/token', 'POST http://store.test/v1/product/list']);
  const error = await failureOf(connect({ baseUrl, limits: { maxAnswerBytes: 10 } }).client.listProducts());
  expect(error.message).toContain('larger than the limit of 10 bytes');
});

test('reaches loopback and the hosts of NO_PROXY directly', async () => {
  const { seen } = await startProxy();
  const { service, client } = await connected();
  service.answer('/v1/product/list', (response) => sendJson(response, 200, page));
  expect(await client.listProducts()).toMatchObject({ page });
  vi.stubEnv('NO_PROXY', '.test');
  await failureOf(connect({ baseUrl: 'http://store.test' }).client.listProducts());
  expect(seen).toEqual([]);
});

test('describes the proxy without its password', async () => {
  const { url } = await startProxy();
  expect(describeProxy('https://store.test/api')).toBe(url);
  expect(describeProxy('http://127.0.0.1:9')).toBeNull();
  vi.stubEnv('NO_PROXY', 'a.test,b.test');
  expect(describeProxy('https://store.test')).toBe(
    `${url}, except for the hosts of NO_PROXY (a.test,b.test)`,
  );
});
