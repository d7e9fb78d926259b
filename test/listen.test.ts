/** A listener's life: it lets requests under way end, and nothing holds it longer than its grace. */
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Hono } from 'hono';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../src/listen.ts';

async function slowApp() {
  const arrived = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const app = new Hono();
  app.get('/slow', async (c) => {
    arrived.resolve();
    await answer.promise;
    return c.text('done');
  });
  app.get('/', (c) => c.text('ok'));
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
  return { listener, get, arrived: arrived.promise, answer: answer.resolve };
}

test('a port that is taken is named', async () => {
  const { listener } = await slowApp();
  onTestFinished(() => listener.stop(0));
  await expect(listen(new Hono(), '127.0.0.1', listener.port)).rejects.toThrow(`127.0.0.1:${listener.port}`);
});

test('stopping waits for a request under way, not for the connection it leaves open', async () => {
  const { listener, get, arrived, answer } = await slowApp();
  expect(await get('/')).toBe(200);
  const slow = get('/slow');
  await arrived;
  const startedMs = performance.now();
  const stopped = listener.stop(5_000);
  const late = connect(listener.port, '127.0.0.1');
  await expect(once(late, 'connect')).rejects.toThrow('ECONNREFUSED');
  answer();
  expect(await slow).toBe(200);
  await stopped;
  expect(performance.now() - startedMs).toBeLessThan(2_000);
});

test('after its grace a request that does not end is cut', async () => {
  const { listener, get, arrived } = await slowApp();
  const slow = get('/slow');
  await arrived;
  const [outcome] = await Promise.allSettled([slow, listener.stop(100)]);
  expect(outcome.status).toBe('rejected');
});
