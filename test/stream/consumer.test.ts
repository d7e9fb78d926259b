import { onTestFinished, expect, test } from 'vitest';
import { Consumer } from '../../src/stream/consumer.ts';
import { MemoryServers } from './memory-engine.ts';

test('takes messages under way to a killed process at once', async () => {
  // Nothing comes again by its ack wait.
  const servers = new MemoryServers({ now: () => 0, later: () => undefined });
  const engine = servers.connect();
  const start = (streamId: string | null, append: (body: Uint8Array) => Promise<void>): Consumer => {
    const metadata = { hostId: 'mirror', streamId, streamSeq: 0 };
    const consumer = new Consumer({
      inbox: { append, metadata } as never,
      engine: Promise.resolve(servers.connect()),
      now: () => 0,
      onNotice: () => Promise.resolve(),
      onLost: () => undefined,
      onError: (error) => {
        throw error;
      },
    });
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    void consumer.run(stopping.signal);
    return consumer;
  };
  const { promise: never } = Promise.withResolvers<void>();
  const killed = start(null, () => never);
  await expect.poll(() => killed.hasCaughtUp).toBe(true);
  for (const id of ['1', '2']) await engine.publish('deliveries', Buffer.from(id), { id });

  const taken: string[] = [];
  start('log-1', (body) => {
    taken.push(Buffer.from(body).toString());
    return Promise.resolve();
  });
  await expect.poll(() => taken).toEqual(['1', '2']);
});
