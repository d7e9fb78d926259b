/** What the receiver says about itself (src/inbox/report.ts). */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { eventually } from '../process/wait.ts';
import type { RefusalReason } from '../../src/inbox/report.ts';
import { signBody } from '../../src/store-api/signature.ts';
import { delivery, item } from '../mirror/mirror-file.ts';
import { lockInbox, PREVIOUS, send, startReceiver, type StartedReceiver } from './harness.ts';

const counts = ({ report }: StartedReceiver): Record<string, number> => {
  const { accepted, refused } = report();
  const refusals = refused.map(({ reason, count }) => [reason, count] as const);
  return Object.fromEntries([['accepted', accepted.count] as const, ...refusals]);
};
const refusalOf = ({ report }: StartedReceiver, reason: RefusalReason) =>
  report().refused.find((each) => each.reason === reason);
const reported = (receiver: StartedReceiver, expected: Record<string, number>): Promise<unknown> =>
  eventually(() => JSON.stringify(counts(receiver)) === JSON.stringify(expected), {
    what: `${JSON.stringify(expected)} is reported`,
  });

test('counts every answer once, with its reason', async () => {
  const receiver = await startReceiver();
  const { post, port } = receiver;
  const body = delivery('a', item());
  await post(body);
  // Sent by hand: says nothing about the store.
  expect((await post(body, { 'x-stock-mirror-test': '1' })).status).toBe(204);
  await post(body, { 'x-service-signature': signBody(PREVIOUS, body) });
  await send(port, { method: 'POST', path: '/webhooks', headers: {}, pieces: [body] });
  await post(body, { 'x-service-signature': 'sha256=abc' });
  await post(body, { 'x-service-signature': signBody('whsec_other', body) });
  await post(new Uint8Array((1 << 20) + 1)).catch(() => null);
  const refusals = { missing_signature: 1, malformed_signature: 1, wrong_signature: 1, too_large: 1 };
  await reported(receiver, { accepted: 2, ...refusals });
  const lock = lockInbox(receiver);
  expect((await post(delivery('b', item()))).status).toBe(503);
  lock.release();
  await reported(receiver, { accepted: 2, ...refusals, not_stored: 1 });
  const { answers, commits } = receiver.report();
  expect(answers.buckets.reduce((sum, count) => sum + count, 0)).toBe(4);
  expect(commits.buckets.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(4);
});

test.each([
  ['wrong_signature', 'a'.repeat(64)],
  ['malformed_signature', `sha256=${'a'.repeat(64)}`],
  ['missing_signature', null],
] as const)('lists what refused requests claim (%s), but not what tests do', async (reason, signature) => {
  const receiver = await startReceiver();
  const headers = signature === null ? {} : { 'x-service-signature': signature };
  const body = delivery('a', item({ id: '7' }), item({ id: '8' }));
  const other = delivery('b', item({ id: '9' }));
  await send(receiver.port, { method: 'POST', path: '/webhooks', headers, pieces: [body] });
  await send(receiver.port, {
    method: 'POST',
    path: '/webhooks',
    headers: { ...headers, 'x-stock-mirror-test': '1' },
    pieces: [other],
  });
  await reported(receiver, { accepted: 0, [reason]: 2 });
  expect(refusalOf(receiver, reason)).toMatchObject({ status: 401 });
  expect(receiver.report().claims).toEqual([
    { seq: 1, variantId: '7', warehouseId: '1', newQty: 4 },
    { seq: 2, variantId: '8', warehouseId: '1', newQty: 4 },
  ]);
});

test('counts a body without a well-formed signature that is cut off or too large as unsigned', async () => {
  const receiver = await startReceiver();
  const { port, post } = receiver;
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write('POST /webhooks HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{}', () => socket.destroy());
  await reported(receiver, { accepted: 0, missing_signature: 1 });
  const answer = await post(new Uint8Array((1 << 20) + 1), { 'x-service-signature': 'none' }).catch(
    () => null,
  );
  expect(answer?.status ?? 401).toBe(401);
  await reported(receiver, { accepted: 0, missing_signature: 1, malformed_signature: 1 });
  expect(receiver.missed().map(({ why }) => why)).toEqual(['first_start']);
});

test.each(['/webhooks/', '/', '/webhook?key=1'])(
  'reports a request with a signature to %s, and what it claims',
  async (path) => {
    const receiver = await startReceiver();
    const { port, log } = receiver;
    const body = delivery('a', item());
    const headers = { 'x-service-signature': signBody(PREVIOUS, body) };
    for (const other of [{}, { ...headers, 'x-stock-mirror-test': '1' }])
      await send(port, { method: 'POST', path, headers: other, pieces: [body] });
    await send(port, { method: 'POST', path, headers, pieces: [body] });
    await reported(receiver, { accepted: 0, wrong_address: 1 });
    const seen = `POST ${path.split('?')[0]}`;
    expect(refusalOf(receiver, 'wrong_address')).toMatchObject({ status: 404, seen });
    expect(receiver.report().claims).toMatchObject([{ variantId: '100' }]);
    expect(log).toContainEqual(expect.objectContaining({ wrong_address: 1, seen }));
  },
);

test('reports a request with a signature and another method', async () => {
  const receiver = await startReceiver();
  const headers = { 'x-service-signature': 'a'.repeat(64) };
  await send(receiver.port, { method: 'PUT', path: '/webhooks', headers, pieces: [] });
  await reported(receiver, { accepted: 0, wrong_address: 1 });
  expect(refusalOf(receiver, 'wrong_address')).toMatchObject({ seen: 'PUT /webhooks' });
});

const exchange = async (port: number, start: string): Promise<string> => {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.end(Buffer.from(start, 'latin1'));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return answer.toString();
};

test.each([
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['the PROXY protocol', 'PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\nPOST /webhooks HTTP/1.1\r\n'],
  ['the PROXY protocol', '\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c'],
])('reports a connection that begins with %s and answers 400', async (seen, start) => {
  const receiver = await startReceiver();
  expect(await exchange(receiver.port, start)).toMatch(/^HTTP\/1\.1 400/);
  await reported(receiver, { accepted: 0, wrong_protocol: 1 });
  expect(refusalOf(receiver, 'wrong_protocol')).toMatchObject({ seen });
});

const SIGNED = `X-Service-Signature: ${'a'.repeat(64)}\r\n`;
test.each<[string, number, string]>([
  ['headers of more than 32 kB', 431, `X-Proxy: ${'x'.repeat(40_000)}\r\n`],
  ['two lengths', 400, 'Content-Length: 2\r\nContent-Length: 2\r\n'],
  ['a length and chunks', 400, 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'],
  ['a folded header', 400, 'X-Proxy: a\r\n b\r\n'],
  ['a bare line feed', 400, 'X-Proxy: a\nX-Other: b\r\n'],
])('reports a webhook with %s, which the parser refuses', async (_, status, headers) => {
  const receiver = await startReceiver();
  const request = `POST /webhooks HTTP/1.1\r\nHost: x\r\n${SIGNED}${headers}\r\n{}`;
  expect(await exchange(receiver.port, request)).toContain(`HTTP/1.1 ${status}`);
  await reported(receiver, { accepted: 0, malformed_request: 1 });
});

test('refuses a body over 1 MB with a well-formed signature', async () => {
  const receiver = await startReceiver();
  const answer = await receiver.post(new Uint8Array((1 << 20) + 1)).catch(() => null);
  expect(answer?.status ?? 413).toBe(413);
  await reported(receiver, { accepted: 0, too_large: 1 });
});

test('takes a webhook with 20 kB of headers', async () => {
  const { post } = await startReceiver();
  expect((await post(delivery('a', item()), { 'x-proxy': 'x'.repeat(20_000) })).status).toBe(204);
});

test('nothing that strangers send leaves a row in the inbox', async () => {
  const receiver = await startReceiver();
  const body = delivery('a', item());
  await receiver.post(body, { 'x-service-signature': 'a'.repeat(64) });
  await receiver.post(new Uint8Array((1 << 20) + 1)).catch(() => null);
  await exchange(receiver.port, '\x16\x03\x01\x02\x00');
  await reported(receiver, { accepted: 0, wrong_signature: 1, too_large: 1, wrong_protocol: 1 });
  expect(receiver.db.prepare('SELECT count(*) FROM inbox').pluck().get()).toBe(1);
  expect(receiver.missed().map(({ why }) => why)).toEqual(['first_start']);
});

test('marks a webhook of the command send, which shows nothing about the store', async () => {
  const receiver = await startReceiver();
  await receiver.post(delivery('test', item()), { 'x-stock-mirror-test': '1' });
  await receiver.post(delivery('a', item()));
  const kinds = receiver.db.prepare('SELECT kind FROM inbox ORDER BY seq').pluck().all();
  expect(kinds).toEqual(['missed', 'test', 'delivery']);
});

test('the first claims after a report are listed, whatever noise follows', async () => {
  const receiver = await startReceiver();
  const refuse = (id: string) =>
    receiver.post(delivery(`refused ${id}`, item({ id })), { 'x-service-signature': 'a'.repeat(64) });
  await refuse('7');
  for (let id = 1_000; id < 1_040; id += 1) await refuse(String(id));
  await reported(receiver, { accepted: 0, wrong_signature: 41 });
  const { claims } = receiver.report();
  expect(claims.map(({ variantId }) => variantId)).toContain('7');
  expect(claims.length).toBeLessThanOrEqual(96);
});
