/** `POST /webhooks` (docs/http-api.md#public-listener). */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { signBody } from '../../src/store-api/signature.ts';
import { delivery, item, values } from '../mirror/mirror-file.ts';
import { PREVIOUS, SECRET, send, startReceiver } from './harness.ts';

const MEGABYTE = 1 << 20;
function ofSize(bytes: number): Uint8Array {
  const frame = delivery('large', item({ sku: '' })).byteLength;
  return delivery('large', item({ sku: 'x'.repeat(bytes - frame) }));
}

test('answers 204 only once the delivery is on disk', async () => {
  const { post, db } = await startReceiver();
  const kept = db.prepare<[Uint8Array], number>('SELECT count(*) FROM inbox WHERE body = ?').pluck();
  for (let n = 0; n < 40; n += 1) {
    const body = delivery(`r${n}`, item({ id: String(n) }));
    expect(await post(body)).toMatchObject({ status: 204, body: '' });
    expect(kept.get(body)).toBe(1);
  }
});

test('stores 200 simultaneous deliveries', async () => {
  const { post, db } = await startReceiver();
  await post(delivery('first', item()));
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) => post(delivery(`r${n}`, item({ id: String(n) })))),
  );
  expect(answers.filter(({ status }) => status !== 204)).toEqual([]);
  expect(values(db, `SELECT count(*) FROM inbox WHERE kind = 'delivery'`)).toEqual([201]);
  const MISSED = 1;
  expect(values(db, `SELECT seq FROM inbox WHERE kind = 'delivery' ORDER BY seq`)).toEqual(
    Array.from({ length: 201 }, (_, n) => MISSED + n + 1),
  );
});

test('answers the same delivery twice and stores it once', async () => {
  const { post, db } = await startReceiver();
  const body = delivery('a', item());
  expect((await post(body)).status).toBe(204);
  expect((await post(body)).status).toBe(204);
  expect(values(db, `SELECT count(*) FROM inbox WHERE kind = 'delivery'`)).toEqual([1]);
});

describe('a signature', () => {
  test('missing or wrong gets 401 and stores nothing', async () => {
    const { post, db, log } = await startReceiver();
    const body = delivery('a', item());
    const right = signBody(SECRET, body);
    for (const signature of [
      undefined,
      '',
      right.toUpperCase(),
      right.slice(0, 63),
      `${right}0`,
      `sha256=${right}`,
      signBody('whsec_other', body),
      signBody(SECRET, delivery('b', item())),
    ]) {
      const headers =
        signature === undefined ? { 'x-service-signature': [] } : { 'x-service-signature': signature };
      const answer = await post(body, headers);
      expect(answer.status, signature).toBe(401);
      expect(JSON.parse(answer.body)).toEqual({
        error: 'invalid_signature',
        error_description: expect.any(String),
      });
    }
    expect(values(db, `SELECT count(*) FROM inbox WHERE kind = 'delivery'`)).toEqual([0]);
    expect(JSON.stringify(log)).not.toContain(right);
    // Unsigned requests must not fill the log.
    expect(log).toHaveLength(1);
  });

  test('made with the previous secret is accepted', async () => {
    const { post } = await startReceiver();
    const body = delivery('a', item());
    expect((await post(body, { 'x-service-signature': signBody(PREVIOUS, body) })).status).toBe(204);
  });

  test('covers the raw bytes, however they are split', async () => {
    const { port, db } = await startReceiver();
    const text = Buffer.from(delivery('a', item({ sku: 'เสื้อ' })));
    const body = Buffer.concat([Uint8Array.of(0xef, 0xbb, 0xbf), text, Uint8Array.of(0x0d, 0x0a)]);
    const headers = { 'x-service-signature': signBody(SECRET, body) };
    const cut = body.indexOf('เสื้อ') + 1;
    const pieces = [body.subarray(0, 1), body.subarray(1, cut), body.subarray(cut)];
    expect((await send(port, { method: 'POST', path: '/webhooks', headers, pieces })).status).toBe(204);
    expect(values<Buffer>(db, `SELECT body FROM inbox WHERE kind = 'delivery'`)[0]?.equals(body)).toBe(true);
  });
});

test('a body over 1 MB gets 413, with a declared length and without', async () => {
  const { post, port, db } = await startReceiver();
  const large = ofSize(MEGABYTE + 1);
  const said = await post(large);
  expect(said.status).toBe(413);
  expect(JSON.parse(said.body)).toMatchObject({ error: 'invalid_request' });
  const pieces = [large.subarray(0, 600_000), large.subarray(600_000)];
  const headers = { 'x-service-signature': signBody(SECRET, large) };
  expect((await send(port, { method: 'POST', path: '/webhooks', headers, pieces })).status).toBe(413);
  expect(values(db, `SELECT count(*) FROM inbox WHERE kind = 'delivery'`)).toEqual([0]);
  expect((await post(ofSize(MEGABYTE))).status).toBe(204);
});

test('never refuses an authentic body for its content', async () => {
  const { post, db } = await startReceiver();
  const bodies: Uint8Array[] = [
    '',
    '{',
    'null',
    '\0',
    '['.repeat(100_000),
    '{"event_type":"order_created"}',
  ].map((text) => new TextEncoder().encode(text));
  bodies.push(Uint8Array.of(0xff, 0xfe), delivery('half', item({ new: 'x' }), item({ id: '101' })));
  for (const body of bodies) expect((await post(body)).status).toBe(204);
  expect(values(db, `SELECT count(*) FROM inbox WHERE kind = 'delivery'`)).toEqual([bodies.length]);
});

test('answers 404 to everything else', async () => {
  const { ask } = await startReceiver();
  for (const [method, path] of [
    ['GET', '/'],
    ['GET', '/webhooks'],
    ['PUT', '/webhooks'],
    ['DELETE', '/webhooks'],
    ['POST', '/webhooks/'],
    ['POST', '/healthz'],
    ['GET', '/metrics'],
    ['GET', '/api/stock'],
    ['POST', '/api/resync'],
    ['OPTIONS', '/webhooks'],
    ['GET', '/../healthz/x'],
  ] as const) {
    const answer = await ask(method, path);
    expect(answer.status, `${method} ${path}`).toBe(404);
    expect(JSON.parse(answer.body)).toMatchObject({ error: 'not_found' });
  }
});

describe('unusual requests', () => {
  async function exchange(port: number, text: string): Promise<string> {
    const socket = connect({ port, host: '127.0.0.1' });
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => void pieces.push(piece));
    socket.write(text);
    await once(socket, 'end');
    return Buffer.concat(pieces).toString('latin1');
  }
  const signed = (body: string, host = '', version = '1.1'): string => {
    const signature = signBody(SECRET, Buffer.from(body));
    return `POST /webhooks HTTP/${version}\r\n${host}X-Service-Signature: ${signature}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };

  test('stores an authentic delivery with any Host header', async () => {
    const { port, db } = await startReceiver();
    for (const [n, [host, version]] of [
      ['', '1.1'],
      ['', '1.0'],
      ['Host: [0:0:0:0:0:0:0:1]:8787\r\n', '1.1'],
      ['Host: example.com:\r\n', '1.1'],
      ['Host: ร้าน.example\r\n', '1.1'],
    ].entries()) {
      expect(await exchange(port, signed(String(n), host, version)), host).toMatch(/^HTTP\/1\.1 204/);
      expect(values(db, `SELECT count(*) FROM inbox WHERE kind = 'delivery'`)).toEqual([n + 1]);
    }
  });

  test('answers /healthz over HTTP/1.0', async () => {
    const { port } = await startReceiver();
    expect(await exchange(port, 'GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200/);
  });
});
