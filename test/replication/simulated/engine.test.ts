/** The simulated engine is one: it does what every engine does. */
import { expect, test } from 'vitest';
import { CopyingLog } from '../copying-log.ts';
import { delivery, keepFor, testEngine } from '../engine-contract.ts';
import { LiveBroker } from './live-broker.ts';

testEngine(
  () => {
    const brokers = new Map<string, LiveBroker>();
    return Promise.resolve({
      connect: (store) => {
        const broker = brokers.get(store) ?? new LiveBroker();
        brokers.set(store, broker);
        return Promise.resolve(broker.engine());
      },
      close: () => Promise.resolve(),
    });
  },
  { skip: false, needs: '' },
);

test('a loss is not passed over, though as many have come since', async () => {
  const broker = new LiveBroker();
  const engine = broker.engine();
  using log = new CopyingLog();
  await keepFor(engine, log);
  const { signal } = new AbortController();
  const following = engine.follow(log.standing, signal)[Symbol.asyncIterator]();
  for (const body of ['1', '2']) await engine.publish(delivery(body));
  expect((await following.next()).value).toMatchObject({ left: 0, rows: { length: 3 } });
  broker.loseTail(2);
  // Another request is told first.
  await expect(engine.publish(delivery('3'))).rejects.toThrow('connection');
  for (const body of ['3', '4', '5']) broker.publish(delivery(body));
  await expect(following.next()).rejects.toThrow('connection');
});
