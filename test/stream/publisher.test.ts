import { expect, test } from 'vitest';
import { Publisher } from '../../src/stream/publisher.ts';
import { MemoryServers } from './memory-engine.ts';

test('says that rows wait also between two flights', async () => {
  const publisher = new Publisher({
    host: {
      hostId: 'host',
      lastSeq: 3,
      now: () => 0,
      lastRun: { streamId: null, streamSeq: 0, publishedSeq: 0 },
      unpublished: (seq) => ({
        rows: [{ seq: seq + 1, kind: 'delivery', body: Buffer.from('{}'), arrivedAtMs: 1, id: `${seq}` }],
        upToSeq: seq + 1,
      }),
    },
    engine: Promise.resolve(new MemoryServers().connect()),
    onSetAside: () => undefined,
    onError: () => undefined,
  });
  void publisher.run(new AbortController().signal);
  for (let at = 0; publisher.publishedSeq < 3 && at < 1_000; at += 1) {
    expect(publisher.oldestAtMs).toBe(1);
    await Promise.resolve();
  }
  expect(publisher.publishedSeq).toBe(3);
  expect(publisher.oldestAtMs).toBeNull();
});
