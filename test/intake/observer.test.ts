import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { eventually } from '../process/wait.ts';
import { signBody } from '../../src/store-api/signature.ts';
import { delivery, item } from '../mirror/mirror-file.ts';
import { lockInbox, PREVIOUS, send, startIntake, startThreads } from './intake.ts';

test('reports every answer once, with its reason', async () => {
  const intake = await startThreads();
  const { post, port, observed } = intake;
  const body = delivery('a', item());
  await post(body);
  // Sent by hand: says nothing about the store.
  expect((await post(body, { 'x-stock-mirror-test': '1' })).status).toBe(204);
  await post(body, { 'x-service-signature': signBody(PREVIOUS, body) });
  await send(port, { method: 'POST', path: '/webhooks', headers: {}, pieces: [body] });
  await post(body, { 'x-service-signature': 'sha256=abc' });
  await post(body, { 'x-service-signature': signBody('whsec_other', body) });
  await post(new Uint8Array((1 << 20) + 1)).catch(() => null);
  await eventually(() => observed.length === 6, { what: 'all are reported' });
  const lock = lockInbox(intake);
  await post(delivery('b', item()));
  lock.release();
  await eventually(() => observed.length === 7, { what: 'the last one is reported' });

  const at = { tookMs: expect.any(Number) as number };
  expect(observed).toEqual([
    'committed',
    'committed',
    { ...at, status: 401, reason: 'missing_signature' },
    { ...at, status: 401, reason: 'malformed_signature' },
    { ...at, status: 401, reason: 'wrong_signature' },
    { ...at, status: 413, reason: 'too_large' },
    { ...at, status: 503, reason: 'not_stored' },
  ]);
});

test.each(['/webhooks/', '/', '/webhook?key=1'])(
  'reports a signed request to %s as misdirected',
  async (path) => {
    const { port, observed, log } = await startIntake();
    const body = delivery('a', item());
    const headers = { 'x-service-signature': signBody(PREVIOUS, body) };
    for (const other of [{}, { ...headers, 'x-stock-mirror-test': '1' }])
      await send(port, { method: 'POST', path, headers: other, pieces: [body] });
    await send(port, { method: 'POST', path, headers, pieces: [body] });
    const seen = `POST ${path.split('?')[0]}`;
    expect(observed).toMatchObject([{ status: 404, reason: 'wrong_address', seen }]);
    expect(log).toMatchObject([{ wrong_address: 1, seen }]);
  },
);

test('reports a signed request with another method as misdirected', async () => {
  const { port, observed } = await startIntake();
  const headers = { 'x-service-signature': 'a'.repeat(64) };
  await send(port, { method: 'PUT', path: '/webhooks', headers, pieces: [] });
  expect(observed).toMatchObject([{ status: 404, reason: 'wrong_address', seen: 'PUT /webhooks' }]);
});

test.each([
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['the PROXY protocol', 'PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\nPOST /webhooks HTTP/1.1\r\n'],
  ['the PROXY protocol', '\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c'],
])('reports a connection that begins with %s and answers 400', async (seen, start) => {
  const { port, observed } = await startIntake();
  const socket = connect({ port, host: '127.0.0.1' });
  socket.end(Buffer.from(start, 'latin1'));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 400/);
  expect(observed).toMatchObject([{ status: 400, reason: 'wrong_protocol', seen }]);
});

test('logs a failing observer and does not change answers', async () => {
  const { post, observed, log } = await startIntake();
  observed.push = () => {
    throw new Error('watching failed');
  };
  expect((await post(delivery('a', item()))).status).toBe(204);
  expect((await post(delivery('b', item()), { 'x-service-signature': 'no' })).status).toBe(401);
  const failures = () => log.filter((line) => JSON.stringify(line).includes('watching failed'));
  await eventually(() => failures().length === 2, { what: 'both failures are in the log' });
});
