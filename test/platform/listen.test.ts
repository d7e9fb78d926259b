import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../src/platform/listen.ts';

async function slowApp() {
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
  const listener = await listen(app, '127.0.0.1', 0);
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

test('names a port that is in use', async () => {
  const { listener } = await slowApp();
  onTestFinished(() => listener.stop(0));
  await expect(listen(new Hono(), '127.0.0.1', listener.port)).rejects.toThrow(
    `cannot listen on 127.0.0.1:${listener.port}: another program uses the port`,
  );
});

test.each([
  // Reserved for documents (RFC 5737).
  { host: '192.0.2.1', port: 0, words: 'this machine has no such address' },
  { host: 'no-such-host.invalid', port: 0, words: 'the host name is not known' },
  ...(process.getuid?.() === 0
    ? []
    : [{ host: '127.0.0.1', port: 1, words: 'this user may not use the port' }]),
])('names the reason that it cannot listen on $host:$port', async ({ host, port, words }) => {
  await expect(listen(new Hono(), host, port)).rejects.toThrow(`cannot listen on ${host}:${port}: ${words}`);
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
  const listener = await listen(app, '127.0.0.1', 0);
  onTestFinished(() => listener.stop(0));
  const { send } = wire(listener.port);
  send('/');
  // Caddy keeps them for 2 minutes, others for one.
  await expect.poll(() => sockets[0]?.timeout).toBeGreaterThan(240_000);
});

test('names a descriptor that is not a listening socket', async () => {
  await expect(listen(new Hono(), '127.0.0.1', 0, 9_999)).rejects.toThrow(
    /^cannot listen on descriptor 9999, which LISTEN_FDS names: /,
  );
});
