import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listen, type Unread } from '../../src/platform/listen.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };

async function slowApp(timeouts?: Parameters<typeof listen>[2]) {
  const arrived = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const app = new Hono();
  app.get('/slow', async (c) => {
    arrived.resolve();
    await answer.promise;
    return c.text('done');
  });
  const seen: string[] = [];
  app.get('/', (c) => {
    seen.push(c.req.url.replace(/^[^/]*\/\/[^/]*/, ''));
    return c.text('ok');
  });
  app.post('/', async (c) => c.text(await c.req.text()));
  app.onError((_, c) => c.text('cut off', 400));
  const listener = await listen(app, LOOPBACK, timeouts);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const get = async (path: string): Promise<number> => {
    const outgoing = request({ port: listener.port, host: '127.0.0.1', path, agent }).end();
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    incoming.resume();
    await once(incoming, 'end');
    return incoming.statusCode ?? 0;
  };
  return { listener, get, arrived: arrived.promise, answer: answer.resolve, seen: () => seen };
}

test.each(['', 'OPS_'] as const)('names a port that is in use, and %sPORT', async (prefix) => {
  const { listener } = await slowApp();
  onTestFinished(() => listener.stop(0));
  await expect(listen(new Hono(), { ...LOOPBACK, port: listener.port, prefix })).rejects.toThrow(
    `cannot listen on 127.0.0.1:${listener.port}: another program uses the port: stop it, or set another ${prefix}PORT`,
  );
});

test.each([
  // Reserved for documents (RFC 5737).
  { host: '192.0.2.1', port: 0, words: 'this machine has no such address: set HOST to' },
  { host: 'no-such-host.invalid', port: 0, words: 'the host name is not known: correct HOST' },
  ...(process.getuid?.() === 0
    ? []
    : [{ host: '127.0.0.1', port: 1, words: 'this user may not use the port: set PORT to' }]),
])('names the reason that it cannot listen on $host:$port', async ({ host, port, words }) => {
  await expect(listen(new Hono(), { host, port })).rejects.toThrow(
    `cannot listen on ${host}:${port}: ${words}`,
  );
});

test('waits for requests in flight when it stops, not for idle connections', async () => {
  const { listener, get, arrived, answer } = await slowApp();
  expect(await get('/')).toBe(200);
  const slow = get('/slow');
  await arrived;
  const stopped = listener.stop(5_000);
  const late = connect(listener.port, '127.0.0.1');
  await expect(once(late, 'connect')).rejects.toThrow('ECONNREFUSED');
  answer();
  expect(await slow).toBe(200);
  await stopped;
});

test('cuts a request that does not end within the grace', async () => {
  const { listener, get, arrived } = await slowApp();
  const slow = get('/slow');
  await arrived;
  const [outcome] = await Promise.allSettled([slow, listener.stop(100)]);
  expect(outcome.status).toBe('rejected');
});

function wire(port: number) {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  let text = '';
  socket.setEncoding('utf8').on('data', (more: string) => (text += more));
  return {
    socket,
    send: (path: string) => socket.write(`GET ${path} HTTP/1.1\r\nHost: mirror\r\n\r\n`),
    answers: () => text.match(/HTTP\/1\.1 \d+/g) ?? [],
    text: () => text,
    closed: once(socket, 'close').then(([hadError]) => hadError as boolean),
  };
}

test('answers a request that arrives over a kept-alive connection during the stop', async () => {
  const { listener } = await slowApp();
  const idle = wire(listener.port);
  const busy = wire(listener.port);
  for (const { send } of [idle, busy]) send('/');
  await expect.poll(() => [idle.answers(), busy.answers()].flat().length).toBe(2);
  expect(busy.text()).not.toMatch(/connection: close/i);

  const stopped = listener.stop(5_000);
  await new Promise((resolve) => setImmediate(resolve));
  busy.send('/');
  expect(await busy.closed).toBe(false);
  expect(busy.answers()).toHaveLength(2);
  expect(busy.text()).toMatch(/connection: close/i);
  expect(await idle.closed).toBe(false);
  await stopped;
});

test('reads a request that crosses the end of its connection', async () => {
  const { listener, seen } = await slowApp();
  // Half open: sends after reading the end, like a request already in flight.
  const late = connect({ port: listener.port, host: '127.0.0.1', allowHalfOpen: true }).resume();
  late.on('error', () => undefined);
  late.write('GET /?first HTTP/1.1\r\nHost: mirror\r\n\r\n');
  await expect.poll(seen).toEqual(['/?first']);
  const stopped = listener.stop(5_000);
  await once(late, 'end');
  late.write('GET /?late HTTP/1.1\r\nHost: mirror\r\n\r\n');
  await expect.poll(seen).toEqual(['/?first', '/?late']);
  late.end();
  await stopped;
});

test('keeps idle connections longer than proxies do', async () => {
  const sockets: Socket[] = [];
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.get('/', (c) => {
    sockets.push(c.env.incoming.socket);
    return c.text('ok');
  });
  const listener = await listen(app, LOOPBACK);
  onTestFinished(() => listener.stop(0));
  const { send } = wire(listener.port);
  send('/');
  // Caddy keeps them for 2 minutes, others for one.
  await expect.poll(() => sockets[0]?.timeout).toBeGreaterThan(240_000);
});

const SHORT = { headersMs: 300, requestMs: 600, idleMs: 300_000, checkEveryMs: 20 };

test('times a connection that was opened ahead from its first byte', async () => {
  const { listener } = await slowApp(SHORT);
  onTestFinished(() => listener.stop(0));
  const ahead = wire(listener.port);
  const [slowHeaders, slowBody] = [wire(listener.port), wire(listener.port)];
  await sleep(3 * SHORT.requestMs);
  expect(ahead.socket.closed).toBe(false);
  // Several requests in the first packet: none of its bytes may be lost or reordered.
  ahead.socket.write('GET /?one HTTP/1.1\r\nHost: mirror\r\n\r\nPOST / HTTP/1.1\r\nHost: mirror\r\n');
  ahead.socket.write('Content-Length: 6\r\n\r\nabc');
  ahead.socket.write('def');
  await expect.poll(ahead.text).toMatch(/200 OK[^]*ok[^]*200 OK[^]*abcdef/);
  slowHeaders.socket.write('GET / HTTP/1.1\r\n');
  slowBody.socket.write('POST / HTTP/1.1\r\nHost: mirror\r\nContent-Length: 6\r\n\r\nabc');
  await Promise.all([slowHeaders.closed, slowBody.closed]);
  expect([slowHeaders.answers(), slowBody.answers()]).toEqual([['HTTP/1.1 408'], ['HTTP/1.1 408']]);
});

test('ends silent connections: unused for long, reset, half-closed, or open at a stop', async () => {
  const { listener, get } = await slowApp({ ...SHORT, idleMs: 500 });
  const unused = wire(listener.port);
  await once(unused.socket, 'connect');
  const openedAtMs = performance.now();
  const reset = wire(listener.port);
  await once(reset.socket, 'connect');
  reset.socket.resetAndDestroy();
  const halfClosed = wire(listener.port);
  halfClosed.socket.end();
  expect(await halfClosed.closed).toBe(false);
  await unused.closed;
  expect(performance.now() - openedAtMs).toBeGreaterThan(400);
  expect(await get('/')).toBe(200);
  const last = wire(listener.port);
  await once(last.socket, 'connect');
  await listener.stop(300);
  await last.closed;
});

test('names a descriptor that is not a listening socket', async () => {
  await expect(listen(new Hono(), { ...LOOPBACK, fd: 9_999 })).rejects.toThrow(
    /^cannot listen on descriptor 9999, which LISTEN_FDS names: /,
  );
});

describe('a request that may be a webhook, in pieces', () => {
  const START = 'POST /webhooks HTTP/1.1\r\nHost: x\r\n';

  async function publicListener() {
    const unread: Unread[] = [];
    const app = { fetch: () => new Response('ok'), onUnread: (each: Unread) => void unread.push(each) };
    const timeouts = { headersMs: 500, requestMs: 1_000, idleMs: 60_000, checkEveryMs: 50 };
    const listener = await listen(app, LOOPBACK, timeouts);
    onTestFinished(() => listener.stop(0));
    const { port } = listener;
    /** After a request of another connection, the listener has read what was sent before it. */
    const settle = async (): Promise<void> => {
      const outgoing = request({ port, host: '127.0.0.1', path: '/', agent: false }).end();
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
      incoming.resume();
      await once(incoming, 'end');
    };
    const send = async (text: string): Promise<Socket> => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => undefined);
      await new Promise<void>((resolve) => socket.write(text, () => resolve()));
      await settle();
      return socket;
    };
    return { unread, settle, send };
  }

  test.each<[string, string, (socket: Socket) => unknown]>([
    ['too long', 'HPE_HEADER_OVERFLOW', (socket) => socket.write(`X-Proxy: ${'x'.repeat(40_000)}\r\n`)],
    ['malformed', 'HPE_LF_EXPECTED', (socket) => socket.write('X-Proxy: a\rb\r\n')],
  ])('is reported if its later headers are %s', async (_, code, go) => {
    const { unread, send } = await publicListener();
    go(await send(START));
    await expect
      .poll(() => unread)
      .toEqual([{ reason: 'malformed_request', status: expect.any(Number), seen: code }]);
  });

  test.each<[string, (socket: Socket) => unknown]>([
    ['ends', (socket) => socket.end()],
    ['is reset', (socket) => socket.resetAndDestroy()],
    ['falls silent', () => undefined],
  ])('is reported as cut off if its connection %s within the headers', async (_, go) => {
    const { unread, send } = await publicListener();
    go(await send(START));
    await expect.poll(() => unread).toMatchObject([{ reason: 'cut_off' }]);
  });

  test.each<[string, (socket: Socket) => unknown]>([
    ['ends', (socket) => socket.end()],
    ['is reset', (socket) => socket.resetAndDestroy()],
  ])('is not reported if its connection %s after the answer', async (_, go) => {
    const { unread, send, settle } = await publicListener();
    const socket = await send(`${START}Content-Length: 0\r\n\r\n`);
    const closed = once(socket, 'close');
    go(socket.resume());
    await closed;
    await settle();
    expect(unread).toEqual([]);
  });

  test('is not reported if nothing shows that it is one', async () => {
    const { unread, send, settle } = await publicListener();
    const socket = await send('GET /other HTTP/1.1\r\nHost: x\r\n');
    const closed = once(socket, 'close');
    socket.end().resume();
    await closed;
    await settle();
    expect(unread).toEqual([]);
  });
});
