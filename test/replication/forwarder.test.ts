import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { LogRow } from '../../src/event-log/entries.ts';
import type { LogReader } from '../../src/event-log/read-log.ts';
import { Forwarder } from '../../src/replication/forwarder.ts';
import { TransportError, type Publication } from '../../src/replication/transport.ts';

/** An outbox with these bodies, and an engine that a test may make forget. */
function forwarding(bodies: readonly string[]) {
  const rows = bodies.map((body, i): LogRow => {
    return { seq: i + 1, kind: 'delivery', atMs: 1, payload: Buffer.from(body) };
  });
  const engine = {
    name: 'engine',
    stream: [] as string[],
    isUp: true,
    publish: ({ row }: Publication) => {
      if (!engine.isUp) return Promise.reject(new TransportError('the engine is down'));
      const position = engine.stream.push(Buffer.from(row.payload).toString('utf8'));
      return Promise.resolve({ position, isDuplicate: false, receipt: position });
    },
    isKept: (receipt: unknown) => Promise.resolve(Number(receipt) <= engine.stream.length),
  };
  const forwarder = new Forwarder({
    outbox: {
      lastSeq: rows.length,
      epoch: 'outbox',
      copiedFrom: null,
      copy: () => Promise.resolve({ places: [], lastSeq: rows.length, epoch: 'outbox' }),
    },
    reader: {
      after: (seq: number, last: number) => rows.filter((row) => row.seq > seq && row.seq <= last),
    } as unknown as LogReader,
    engine,
    log: pino({ level: 'silent' }),
    now: () => 1,
  });
  const running = forwarder.run();
  onTestFinished(async () => {
    forwarder.stop();
    await running;
  });
  return { engine, forwarder };
}

test('what an engine loses while nothing comes is offered again', async () => {
  const { engine, forwarder } = forwarding(['one', 'two']);
  await expect.poll(() => engine.stream).toEqual(['one', 'two']);
  expect(forwarder.backlog).toMatchObject({ entries: 0, trouble: null });
  engine.stream.length = 0;
  await expect.poll(() => engine.stream, { timeout: 10_000 }).toEqual(['one', 'two']);
});

test('what cannot be published waits, in order, and says why', async () => {
  const { engine, forwarder } = forwarding(['one', 'two']);
  engine.isUp = false;
  await expect.poll(() => forwarder.backlog).toMatchObject({ entries: 2, trouble: 'the engine is down' });
  engine.isUp = true;
  await expect.poll(() => engine.stream, { timeout: 5_000 }).toEqual(['one', 'two']);
});
