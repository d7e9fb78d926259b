/** The simulated engine on real time, for several processes in one, and for a test to look at and to spoil. */
import type { Engine } from '../../../src/replication/transport.ts';
import { Broker } from './broker.ts';
import { SimulatedEngine, type Way } from './engine.ts';

const TIME = {
  get nowMs() {
    return Date.now();
  },
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.max(0, ms))),
};

export class LiveBroker extends Broker {
  readonly #ways = new Map<string, Way>();

  constructor() {
    super(() => TIME.nowMs);
  }

  /** @param machine by which it is used. */
  engine(machine = 'test'): Engine {
    return new SimulatedEngine({
      time: TIME,
      broker: this,
      way: this.#wayOf(machine),
      random: Math.random,
      count: () => undefined,
    });
  }

  cutOff(machine: string): void {
    this.#wayOf(machine).isCut = true;
  }

  reconnect(machine: string): void {
    this.#wayOf(machine).isCut = false;
  }

  #wayOf(machine: string): Way {
    const way = this.#ways.get(machine) ?? { isCut: false, lossShare: 0, wayMs: 0, timeoutMs: 50 };
    this.#ways.set(machine, way);
    return way;
  }
}
