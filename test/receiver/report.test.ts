/** What the receiver says about itself (src/inbox/report.ts). */
import { once } from 'node:events';
import { copyFileSync, renameSync } from 'node:fs';
import { connect } from 'node:net';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { eventually } from '../process/wait.ts';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { signBody } from '../../src/store-api/signature.ts';
import { delivery, item, newPath } from '../mirror/mirror-file.ts';
import { lockInbox, PREVIOUS, SECRET, send, startReceiver, type StartedReceiver } from './harness.ts';

const counts = ({ report }: StartedReceiver): Record<string, number> => {
  const { accepted, refused } = report();
  const refusals = Object.entries(refused).map(([reason, { count }]) => [reason, count] as const);
  return Object.fromEntries([['accepted', accepted.count] as const, ...refusals]);
};
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
  const { answers, commits, listeningSinceMs } = receiver.report();
  expect(answers.buckets.reduce((sum, count) => sum + count, 0)).toBe(4);
  expect(commits.buckets.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(4);
  expect(listeningSinceMs).not.toBeNull();
});

test.each([
  ['wrong_signature', 'a'.repeat(64)],
  ['malformed_signature', `sha256=${'a'.repeat(64)}`],
  ['missing_signature', null],
] as const)(
  'names the variants of refused requests (%s), but not those of tests',
  async (reason, signature) => {
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
    expect(receiver.report().refused[reason]).toMatchObject({ status: 401 });
    expect(receiver.report().refusedWebhooks).toMatchObject([{ reason, count: 1, variantIds: ['7', '8'] }]);
  },
);

test('orders no reads for a body without a well-formed signature that is cut off or too large', async () => {
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
  'reports a request with a signature to %s, and the variants that it names',
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
    expect(receiver.report().refused.wrong_address).toMatchObject({ status: 404, seen });
    expect(receiver.report().refusedWebhooks).toMatchObject([{ seen, variantIds: ['100'] }]);
    expect(log).toContainEqual(expect.objectContaining({ wrong_address: 1, seen }));
  },
);

test('reports a request with a signature and another method', async () => {
  const receiver = await startReceiver();
  const headers = { 'x-service-signature': 'a'.repeat(64) };
  await send(receiver.port, { method: 'PUT', path: '/webhooks', headers, pieces: [] });
  await reported(receiver, { accepted: 0, wrong_address: 1 });
  expect(receiver.report().refused.wrong_address).toMatchObject({ seen: 'PUT /webhooks' });
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
  expect(receiver.report().refused.wrong_protocol).toMatchObject({ seen });
});

const SIGNED = `X-Service-Signature: ${'a'.repeat(64)}\r\n`;
test.each<[string, number, string]>([
  ['headers of more than 32 kB', 431, `X-Proxy: ${'x'.repeat(40_000)}\r\n`],
  ['two lengths', 400, 'Content-Length: 2\r\nContent-Length: 2\r\n'],
  ['a length and chunks', 400, 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'],
  ['a folded header', 400, 'X-Proxy: a\r\n b\r\n'],
  ['a bare line feed', 400, 'X-Proxy: a\nX-Other: b\r\n'],
])('reports a webhook with %s, which the parser refuses, and orders reads', async (_, status, headers) => {
  const receiver = await startReceiver();
  const request = `POST /webhooks HTTP/1.1\r\nHost: x\r\n${SIGNED}${headers}\r\n{}`;
  expect(await exchange(receiver.port, request)).toContain(`HTTP/1.1 ${status}`);
  await reported(receiver, { accepted: 0, malformed_request: 1 });
  await eventually(() => receiver.missed().some(({ why }) => why === 'turned_away'), {
    what: 'the row is written',
  });
});

test('orders reads for a body over 1 MB with a well-formed signature', async () => {
  const receiver = await startReceiver();
  const answer = await receiver.post(new Uint8Array((1 << 20) + 1)).catch(() => null);
  expect(answer?.status ?? 413).toBe(413);
  await reported(receiver, { accepted: 0, too_large: 1 });
  await eventually(() => receiver.missed().some(({ why }) => why === 'turned_away'), {
    what: 'the row is written',
  });
});

test('takes a webhook with 20 kB of headers', async () => {
  const { post } = await startReceiver();
  expect((await post(delivery('a', item()), { 'x-proxy': 'x'.repeat(20_000) })).status).toBe(204);
});

test('the proof that webhooks arrive is on disk before the first answer, and survives a kill', async () => {
  const first = await startReceiver();
  const body = delivery('a', item());
  expect((await first.post(body, { 'x-stock-mirror-test': '1' })).status).toBe(204);
  expect(first.report().provenSecret).toBeNull();
  expect((await first.post(body)).status).toBe(204);
  const proof = first.report().provenSecret;
  expect(proof).not.toBeNull();
  first.inbox.close();
  const second = await startReceiver({ path: first.path });
  expect(second.report().provenSecret).toBe(proof);
  await second.stop();
  const replacing = await startReceiver({ path: first.path, secrets: ['whsec_next', SECRET] });
  expect(replacing.report().provenSecret).toBe(proof);
  await replacing.stop();
  const replaced = await startReceiver({ path: first.path, secrets: ['whsec_next'] });
  expect(replaced.report().provenSecret).toBeNull();
});

test('a copy of the inbox, as on another host, proves nothing, and a moved one does', async () => {
  const first = await startReceiver();
  await first.post(delivery('a', item()));
  await first.stop();
  const { provenSecret } = first.report();
  expect(provenSecret).not.toBeNull();
  first.db.close();
  // The last connection to close takes the write-ahead log into the file.
  new Database(inboxPath(first.path)).pragma('journal_mode = DELETE');
  const [copy, moved] = [newPath(), newPath()];
  copyFileSync(inboxPath(first.path), inboxPath(copy));
  const copied = await startReceiver({ path: copy });
  expect(copied.report().provenSecret).toBeNull();
  renameSync(inboxPath(first.path), inboxPath(moved));
  expect((await startReceiver({ path: moved })).report().provenSecret).toBe(provenSecret);
});

test('everything before the first webhook of a secret may have been missed', async () => {
  const whys = ({ missed }: Awaited<ReturnType<typeof startReceiver>>) => missed().map(({ why }) => why);
  const first = await startReceiver();
  await first.post(delivery('test', item()), { 'x-stock-mirror-test': '1' });
  expect(whys(first)).toEqual(['first_start']);
  await first.post(delivery('a', item()));
  await first.post(delivery('b', item()));
  expect(whys(first)).toEqual(['first_start', 'unproven']);
  const kinds = first.db.prepare('SELECT kind FROM inbox ORDER BY seq').pluck().all();
  expect(kinds).toEqual(['missed', 'delivery', 'missed', 'delivery', 'delivery']);
  await first.stop();
  const again = await startReceiver({ path: first.path });
  await again.post(delivery('c', item()));
  expect(whys(again)).toEqual(['first_start', 'unproven', 'port_closed']);
  await again.stop();
  const changed = await startReceiver({ path: first.path, secrets: ['whsec_next'] });
  const body = delivery('d', item());
  await changed.post(body, { 'x-service-signature': signBody('whsec_next', Buffer.from(body)) });
  expect(whys(changed).slice(3)).toEqual(['port_closed', 'unproven']);
});

test('a webhook that could not be stored proves nothing', async () => {
  const receiver = await startReceiver();
  const lock = lockInbox(receiver);
  expect((await receiver.post(delivery('a', item()))).status).toBe(503);
  lock.release();
  await reported(receiver, { accepted: 0, not_stored: 1 });
  expect(receiver.report().provenSecret).toBeNull();
});

test('webhooks that could not be stored before the first one that could add one row, not one each', async () => {
  const receiver = await startReceiver();
  const lock = lockInbox(receiver);
  for (const id of ['a', 'b', 'c']) {
    expect((await receiver.post(delivery(id, item()))).status).toBe(503);
  }
  lock.release();
  expect((await receiver.post(delivery('d', item()))).status).toBe(204);
  const whys = receiver.missed().map(({ why }) => why);
  expect(whys.filter((why) => why === 'unproven')).toHaveLength(1);
});

test('refused webhooks are named until one is accepted, and then may have been missed', async () => {
  const receiver = await startReceiver();
  const { post } = receiver;
  const refuse = (id: string) =>
    post(delivery(`refused ${id}`, item({ id })), { 'x-service-signature': 'a'.repeat(64) });
  const rows = () => receiver.missed().filter(({ why }) => why === 'refused');
  const named = () => receiver.report().refusedWebhooks.flatMap(({ variantIds }) => variantIds);
  expect((await post(delivery('proof', item()))).status).toBe(204);
  await refuse('7');
  await eventually(() => named().length > 0, { what: 'they are reported' });
  expect(named()).toEqual(['7']);
  // A test of the operator is not the store's.
  await post(delivery('test', item()), { 'x-stock-mirror-test': '1' });
  await refuse('8');
  await eventually(() => named().length > 1, { what: 'both are reported' });
  expect(rows()).toEqual([]);
  await post(delivery('a', item({ id: '9' })));
  await eventually(() => rows().length > 0, { what: 'the row is written' });
  expect(rows()).toMatchObject([{ variantIds: ['7', '8'] }]);
  expect(named()).toEqual([]);
});

test('what a run has refused is still open in the next one, unless its secret was replaced', async () => {
  const first = await startReceiver();
  await first.post(delivery('a', item()));
  await first.post(delivery('b', item({ id: '7' })), { 'x-service-signature': 'a'.repeat(64) });
  await first.stop();
  const next = await startReceiver({ path: first.path, secrets: ['whsec_next', SECRET] });
  expect(next.report().refusedWebhooks).toMatchObject([{ variantIds: ['7'] }]);
  expect(next.missed().map(({ why }) => why)).not.toContain('refused');
  const body = delivery('c', item());
  await next.post(body, { 'x-service-signature': signBody('whsec_next', Buffer.from(body)) });
  await next.stop();
  expect(next.missed().at(-1)).toMatchObject({ why: 'refused', variantIds: ['7'] });
  const replaced = await startReceiver({ path: first.path, secrets: ['whsec_third'] });
  expect(replaced.report()).toMatchObject({ provenSecret: null, refusedWebhooks: [] });
});
