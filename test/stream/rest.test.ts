import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Stream } from '../../src/stream/stream.ts';
import { MemoryServers } from './memory-engine.ts';

const COMMIT_MS = 500;

test('a stop waits for the rest of the rows no longer because commits keep the thread busy', async () => {
  const servers = new MemoryServers();
  const row = { seq: 1, kind: 'delivery', body: Buffer.from('{}'), arrivedAtMs: 0, id: '1' } as const;
  const stream = new Stream({
    connect: () =>
      Promise.resolve({ ...servers.connect(), publish: () => new Promise<number>(() => undefined) }),
    host: {
      hostId: 'host',
      now: Date.now,
      lastRun: { streamId: null, streamSeq: 0, publishedSeq: 0 },
      lastSeq: 1,
      isStoring: true,
      coverage: { unsure: null, sure: () => undefined },
      look: () => undefined,
      append: () => Promise.resolve(),
      unpublished: () => ({ rows: [row], upToSeq: 1 }),
    },
    isConsumed: false,
    log: pino({ level: 'silent' }),
  });
  stream.start(false);
  await new Promise(setImmediate);
  const busy = setInterval(() => {
    const untilMs = performance.now() + COMMIT_MS;
    while (performance.now() < untilMs);
  }, 5);
  const startedMs = performance.now();
  await stream.stop();
  clearInterval(busy);
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});
