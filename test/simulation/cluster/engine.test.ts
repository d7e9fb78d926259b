/** The simulated engine is one: it does what every engine does. */
import { testEngine } from '../../replication/engine-contract.ts';
import { WORLD } from '../virtual-time.ts';
import { Broker } from './broker.ts';
import { SimulatedEngine } from './network.ts';

const time = {
  get nowMs() {
    return Date.now();
  },
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
};

testEngine(
  () => {
    const brokers = new Map<string, Broker>();
    return Promise.resolve({
      connect: (store) => {
        const broker = brokers.get(store) ?? new Broker(() => time.nowMs);
        brokers.set(store, broker);
        const way = { isCut: false, lossShare: 0, wayMs: 0 };
        const count = () => undefined;
        return Promise.resolve(
          new SimulatedEngine({ time, life: WORLD, broker, way, random: Math.random, count }),
        );
      },
      close: () => Promise.resolve(),
    });
  },
  { skip: false, needs: '' },
);
