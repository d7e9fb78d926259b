/**
 * Who may not sign may still send: slow, cut off and too many requests are bounded
 * (docs/architecture.md#security).
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { eventually, throughout } from '../process/wait.ts';
import { delivery, detail, item, readEntry, values } from '../mirror/mirror-file.ts';
import { startIntake } from './intake.ts';

async function open(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

const HEAD = 'POST /webhooks HTTP/1.1\r\nHost: mirror\r\n';

test('a request that does not come to its end is cut, and nothing of it is kept', async () => {
  const { port, db, post } = await startIntake();
  const startedMs = performance.now();
  const cutAfterMs = async (text: string): Promise<number> => {
    const socket = await open(port, text);
    socket.resume();
    await once(socket, 'close');
    return performance.now() - startedMs;
  };
  const [silent, headers, body, chunks] = await Promise.all([
    cutAfterMs(''),
    cutAfterMs(HEAD),
    cutAfterMs(`${HEAD}Content-Length: 100\r\n\r\n{"request_id"`),
    cutAfterMs(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{"req\r\n`),
  ]);
  expect(silent).toBeLessThan(8_000);
  expect(headers).toBeLessThan(8_000);
  expect(body).toBeLessThan(12_500);
  expect(chunks).toBeLessThan(12_500);
  expect((await post(delivery('a', item()))).status).toBe(204);
  expect(values(db, 'SELECT count(*) FROM log')).toEqual([1]);
}, 30_000);

test('a connection closed in the middle of a body leaves nothing behind', async () => {
  const { port, post, db } = await startIntake();
  for (let n = 0; n < 20; n += 1) {
    const socket = await open(port, `${HEAD}Content-Length: 1000\r\n\r\nhalf`);
    socket.destroy();
  }
  expect((await post(delivery('a', item()))).status).toBe(204);
  expect(values(db, 'SELECT count(*) FROM log')).toEqual([1]);
});

/** A signature of the right form: who has none is refused before the body is read. */
const FORGED = `X-Service-Signature: ${'0'.repeat(64)}\r\n`;
const MEGABYTE = 1 << 20;

interface Held {
  readonly socket: Socket;
  /** The status it was answered with, once it was. */
  status: number | null;
}

async function hold(port: number, bytes: number, signature = FORGED, from = '127.0.0.1'): Promise<Held> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  const held: Held = { socket, status: null };
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.on(
    'data',
    (chunk: Buffer) => (held.status ??= Number(/^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1'))?.[1])),
  );
  await once(socket, 'connect');
  socket.write(`${HEAD}${signature}Content-Length: ${MEGABYTE}\r\n\r\n`);
  socket.write(Buffer.alloc(bytes, 'x'));
  return held;
}

test('held bodies: those that stop before their end give way, the oldest first, and every delivery finds room', async () => {
  const { port, post, observed } = await startIntake();
  const held: Held[] = [];
  for (let n = 0; n < 140; n += 20) {
    held.push(...(await Promise.all(Array.from({ length: 20 }, () => hold(port, MEGABYTE - 1)))));
    expect((await post(delivery(`r${n}`, item({ id: String(n) })))).status).toBe(204);
    const large = delivery(`large${n}`, item({ sku: 'x'.repeat(900_000) }));
    expect((await post(large)).status).toBe(204);
  }
  const cut = (): Held[] => held.filter(({ status }) => status !== null);
  // Of 140 MB, what fits 48 MB is left.
  await eventually(() => cut().length > 90, { what: 'most gave way' });
  expect(cut().every(({ status }) => status === 503)).toBe(true);
  expect(held.slice(0, 60).every(({ status }) => status === 503)).toBe(true);
  expect(held.slice(120).every(({ status }) => status === null)).toBe(true);
  await eventually(() => observed.some((one) => 'reason' in one && one.reason === 'no_room'), {
    what: 'it is told',
  });
});

test('held bodies: who holds most gives way, not who sends a large body slowly beside it', async () => {
  const { port } = await startIntake();
  const slow = await hold(port, MEGABYTE - 1, FORGED, '127.0.0.2');
  const greedy = await Promise.all(Array.from({ length: 100 }, () => hold(port, MEGABYTE - 1)));
  await eventually(() => greedy.filter(({ status }) => status === 503).length > 50, {
    what: 'the greedy give way',
  });
  expect(slow.status).toBeNull();
});

test('held bodies: without a signature that could be right, no body is waited for', async () => {
  const { port } = await startIntake();
  const none = await hold(port, 10, '');
  const odd = await hold(port, 10, 'X-Service-Signature: sha256=00\r\n');
  await eventually(() => none.status === 401 && odd.status === 401, {
    what: 'both are refused',
    withinMs: 2_000,
  });
});

test('held bodies: a byte at a time costs what it takes, not what it says', async () => {
  const { port, post } = await startIntake();
  // Each chunk of a byte takes far more memory than that.
  const chunks = Buffer.from('1\r\nx\r\n'.repeat(100_000));
  const startedMs = performance.now();
  const open = Array.from({ length: 4 }, async () => {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined).resume();
    socket.write(`${HEAD}${FORGED}Transfer-Encoding: chunked\r\n\r\n`);
    socket.write(chunks);
    await once(socket, 'close');
  });
  // 100 MB of pieces: at least one gave way before the time for a request was over.
  await Promise.race(open);
  expect(performance.now() - startedMs).toBeLessThan(8_000);
  expect((await post(delivery('a', item()))).status).toBe(204);
});

test('held bodies: deliveries may have been turned away, so what moves is read again, once for all of them', async () => {
  const { port, db, store, applied } = await startIntake();
  await store.writer.append(
    readEntry('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), {
      sentAtMs: Date.now() - 60_000,
      s0: 0,
    }),
  );
  const reasons = () => values(db, 'SELECT reason FROM read_requests');
  const isSwept = () => values(db, `SELECT 1 FROM log WHERE kind = 'due'`).length;
  // Refused for what they are, not unread.
  await hold(port, 10, '');
  await Promise.all(Array.from({ length: 100 }, () => hold(port, MEGABYTE - 1)));
  await eventually(() => isSwept() === 1, { what: 'the loss sweep' });
  await applied();
  expect(reasons()).toEqual(['canary']);
  await Promise.all(Array.from({ length: 100 }, () => hold(port, MEGABYTE - 1)));
  await throughout(3_500, () => expect(isSwept()).toBe(1));
});
