/** What a receiver has answered comes into the common order, as it came, whatever the engine does. */
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openOutbox, type Outbox } from '../../src/app/open-outbox.ts';
import { encodeEntry } from '../../src/event-log/entries.ts';
import { Forwarder } from '../../src/replication/forwarder.ts';
import { TransportError, type Engine, type Publication } from '../../src/replication/transport.ts';
import { StoreError } from '../../src/sqlite/errors.ts';
import { delivery, item, newPath, T0 } from '../mirror/mirror-file.ts';
import { eventually, throughout } from '../process/wait.ts';
import { LiveBroker } from './simulated/live-broker.ts';

async function outboxAt(path: string): Promise<Outbox> {
  const outbox = await openOutbox(path, { onDeath: () => undefined, onCommit: () => undefined });
  onTestFinished(() => outbox.close());
  return outbox;
}

function forwarding(outbox: Outbox, engine: Pick<Engine, 'name' | 'publish' | 'isKept'>) {
  const log = pino({ level: 'silent' });
  const forwarder = new Forwarder({
    outbox: outbox.log,
    reader: outbox.reader,
    engine,
    log,
    now: () => T0 + 60_000,
  });
  outbox.onAppended(() => forwarder.wake());
  const running = forwarder.run();
  const stop = async (): Promise<void> => {
    forwarder.stop();
    await running;
  };
  onTestFinished(stop);
  return { forwarder, stop };
}

async function answer(outbox: Outbox, ...names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => outbox.log.appendDelivery(delivery(name, item()), T0)));
}

const namesIn = (broker: LiveBroker): string[] =>
  broker.after(0, Infinity).messages.map(({ row }) => {
    const body = JSON.parse(Buffer.from(row.payload).toString()) as { request_id?: string };
    return body.request_id ?? row.kind;
  });

const untilThere = (broker: LiveBroker, ...names: readonly string[]): Promise<true> =>
  eventually(() => JSON.stringify(namesIn(broker)) === JSON.stringify(names), {
    what: `${names.join(', ')} are there, and not ${namesIn(broker).join(', ')}`,
    withinMs: 5_000,
  });

/** The stopwatch is the test's own: what the rules wait for takes no time. */
function stopwatch() {
  vi.useFakeTimers({ toFake: ['performance'], now: T0 });
  onTestFinished(() => void vi.useRealTimers());
  /** In steps, between which it works. */
  const pass = async (ms: number, stepMs = 30_000): Promise<void> => {
    for (let left = ms; left > 0; left -= stepMs) {
      vi.advanceTimersByTime(Math.min(left, stepMs));
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  };
  return {
    pass,
    /** Longer than a loss must last, and shorter than anything is kept. */
    passUntil: async (done: () => boolean): Promise<void> => {
      for (let steps = 0; steps < 200 && !done(); steps += 1) await pass(2_000, 2_000);
      expect(done()).toBe(true);
    },
  };
}

test('all that is answered is forwarded in its order, what two receivers have once, entries too', async () => {
  const broker = new LiveBroker();
  const one = await outboxAt(newPath());
  const { forwarder } = forwarding(one, broker.engine());
  await answer(one, 'a', 'b');
  await one.log.appendEntry(
    encodeEntry({ kind: 'oblige', atMs: T0, reason: 'operator', productIds: ['1'], variantIds: [] }),
  );
  await answer(one, 'c');
  await untilThere(broker, 'a', 'b', 'oblige', 'c');
  const other = await outboxAt(newPath());
  forwarding(other, broker.engine());
  await answer(other, 'c', 'd', 'a');
  await untilThere(broker, 'a', 'b', 'oblige', 'c', 'd');
  await eventually(() => forwarder.backlog.entries === 0, { what: 'nothing waits' });
  expect(forwarder.backlog).toEqual({ entries: 0, ageMs: 0, trouble: null });
});

test('what the engine does not take waits, and says for how long and why', async () => {
  const broker = new LiveBroker();
  const outbox = await outboxAt(newPath());
  const { forwarder } = forwarding(outbox, broker.engine());
  broker.cutOff('test');
  await answer(outbox, 'a', 'b');
  await eventually(() => forwarder.backlog.trouble !== null, { what: 'it is told' });
  expect(forwarder.backlog).toEqual({ entries: 2, ageMs: 60_000, trouble: 'the engine does not answer' });
  broker.reconnect('test');
  await untilThere(broker, 'a', 'b');
  await eventually(() => forwarder.backlog.trouble === null, { what: 'the trouble is over' });
});

test('one that fails in the middle is published again, and nothing is passed over', async () => {
  const broker = new LiveBroker();
  const engine = broker.engine();
  let failures = 2;
  const published: string[] = [];
  const outbox = await outboxAt(newPath());
  await answer(outbox, 'a', 'b', 'c');
  const { forwarder } = forwarding(outbox, {
    name: engine.name,
    isKept: (receipt) => engine.isKept(receipt),
    publish: (publication: Publication) => {
      const { request_id: name } = JSON.parse(Buffer.from(publication.row.payload).toString()) as {
        request_id: string;
      };
      published.push(name);
      if (name === 'b' && failures > 0) {
        failures -= 1;
        return Promise.reject(new TransportError('no answer'));
      }
      return engine.publish(publication);
    },
  });
  await eventually(() => forwarder.backlog.entries === 0, { what: 'all are acknowledged' });
  expect(namesIn(broker).toSorted()).toEqual(['a', 'b', 'c']);
  // What came before it is acknowledged; what came after it is offered again with it.
  expect(published).toEqual(['a', 'b', 'c', 'b', 'c', 'b', 'c']);
});

test('a start goes on behind what was acknowledged, and offers what was not', async () => {
  const broker = new LiveBroker();
  const engine = broker.engine();
  const publish = vi.fn((publication: Publication) => engine.publish(publication));
  const counted = { name: engine.name, isKept: (receipt: unknown) => engine.isKept(receipt), publish };
  const path = newPath();
  const first = await outboxAt(path);
  const { stop } = forwarding(first, counted);
  await answer(first, 'a', 'b');
  await untilThere(broker, 'a', 'b');
  // It is noted once a second.
  await answer(first, 'c');
  await untilThere(broker, 'a', 'b', 'c');
  await throughout(1_200, () => undefined);
  await stop();
  await answer(first, 'd');
  await first.close();
  publish.mockClear();
  const again = await outboxAt(path);
  forwarding(again, counted);
  await untilThere(broker, 'a', 'b', 'c', 'd');
  expect(publish).toHaveBeenCalledTimes(1);
});

test('an engine that has lost its end gets it again, also when it took something since', async () => {
  const { passUntil } = stopwatch();
  const broker = new LiveBroker();
  const outbox = await outboxAt(newPath());
  // Whoever publishes has not seen what the engine has lost: by that alone nothing is noticed.
  const { forwarder } = forwarding(outbox, {
    name: 'forgetful',
    isKept: (receipt) => broker.engine().isKept(receipt),
    publish: (publication) => broker.engine().publish(publication),
  });
  await answer(outbox, 'a', 'b');
  await untilThere(broker, 'a', 'b');
  await answer(outbox, 'c');
  await untilThere(broker, 'a', 'b', 'c');
  broker.loseTail(2);
  await answer(outbox, 'd');
  await passUntil(() => namesIn(broker).toSorted().join() === 'a,b,c,d');
  await eventually(() => forwarder.backlog.entries === 0, { what: 'nothing waits' });
});

test('what was acknowledged stays for ten minutes, and an engine that lost all gets no more than that', async () => {
  const { pass } = stopwatch();
  const broker = new LiveBroker();
  const outbox = await outboxAt(newPath());
  const { forwarder } = forwarding(outbox, broker.engine());
  await answer(outbox, 'a', 'b');
  await untilThere(broker, 'a', 'b');
  const kept = (): number => outbox.reader.after(0, 1_000).length;
  await pass(9 * 60_000);
  expect(kept()).toBe(2);
  await answer(outbox, 'c');
  await untilThere(broker, 'a', 'b', 'c');
  await pass(90_000);
  await eventually(() => kept() === 1, { what: 'what is old enough is gone' });
  broker.empty();
  broker.cutOff('test');
  await pass(2_000);
  await eventually(() => forwarder.backlog.trouble !== null, { what: 'it is cut off' });
  broker.reconnect('test');
  await eventually(() => forwarder.backlog.trouble === null, { what: 'it is reached' });
  // A loss must have lasted for a while.
  await pass(30_000);
  await untilThere(broker, 'c');
  await eventually(() => forwarder.backlog.entries === 0, { what: 'nothing waits' });
});

test('after a loss the backlog counts what the outbox has, not what it ever had', async () => {
  const { passUntil } = stopwatch();
  const broker = new LiveBroker();
  const path = newPath();
  const outbox = await outboxAt(path);
  await answer(outbox, 'a', 'b', 'c');
  const cursor = { seq: 3, receipt: { created: 'elsewhere', seq: 9, id: 'x', baseSeq: 0 } };
  await outbox.log.copy({ rows: [], firstSeq: 3, origin: 'memory', cursor });
  await outbox.close();
  const again = await outboxAt(path);
  const engine = broker.engine();
  const { forwarder } = forwarding(again, {
    name: 'memory',
    isKept: (receipt) => engine.isKept(receipt),
    publish: () => Promise.reject(new TransportError('not now')),
  });
  await passUntil(() => forwarder.backlog.trouble !== null);
  expect(forwarder.backlog.entries).toBe(1);
});

test('what is offered again waits since then, what was never acknowledged since it came', async () => {
  const { passUntil } = stopwatch();
  const broker = new LiveBroker();
  const path = newPath();
  const outbox = await outboxAt(path);
  await answer(outbox, 'a', 'b');
  const cursor = { seq: 2, receipt: { created: 'elsewhere', seq: 9, id: 'x', baseSeq: 0 } };
  await outbox.log.copy({ rows: [], firstSeq: null, origin: 'memory', cursor });
  await outbox.close();
  const engine = broker.engine();
  const { forwarder } = forwarding(await outboxAt(path), {
    name: 'memory',
    isKept: (receipt) => engine.isKept(receipt),
    publish: () => Promise.reject(new TransportError('not now')),
  });
  await passUntil(() => forwarder.backlog.entries === 2);
  await eventually(() => forwarder.backlog.trouble !== null, { what: 'it is not taken' });
  expect(forwarder.backlog.ageMs).toBe(0);
});

test('of many that are old enough all go, a portion at a time, and then nothing is written any more', async () => {
  const { pass } = stopwatch();
  const broker = new LiveBroker();
  const outbox = await outboxAt(newPath());
  const many = Array.from({ length: 12_000 }, (_, i) => `r${i}`);
  const { forwarder } = forwarding(outbox, broker.engine());
  await answer(outbox, ...many);
  await eventually(() => forwarder.backlog.entries === 0, { what: 'all are acknowledged' });
  const copy = vi.spyOn(outbox.log, 'copy');
  for (let steps = 0; outbox.reader.after(0, 20_000)[0]?.seq !== 12_000 && steps < 200; steps += 1) {
    await pass(30_000);
  }
  expect(outbox.reader.after(0, 20_000).map(({ seq }) => seq)).toEqual([12_000]);
  const written = copy.mock.calls.length;
  expect(written).toBeGreaterThanOrEqual(3);
  vi.advanceTimersByTime(5_000);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(copy).toHaveBeenCalledTimes(written);
}, 60_000);

test('it stops at once, though the engine does not answer', async () => {
  const outbox = await outboxAt(newPath());
  await answer(outbox, 'a');
  const { stop } = forwarding(outbox, {
    name: 'memory',
    isKept: () => new Promise(() => undefined),
    publish: () => new Promise(() => undefined),
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const startedMs = performance.now();
  await stop();
  expect(performance.now() - startedMs).toBeLessThan(500);
});

test('an outbox that cannot be written for a while ends nothing: it is noted later', async () => {
  const broker = new LiveBroker();
  const outbox = await outboxAt(newPath());
  const engine = broker.engine();
  const copy = vi.spyOn(outbox.log, 'copy');
  copy.mockRejectedValueOnce(new StoreError('cannot_commit', 'the disk is full'));
  const { forwarder } = forwarding(outbox, engine);
  await answer(outbox, 'a');
  await untilThere(broker, 'a');
  await eventually(() => copy.mock.calls.length >= 2, { what: 'it is noted in the end' });
  expect(forwarder.backlog.entries).toBe(0);
});
