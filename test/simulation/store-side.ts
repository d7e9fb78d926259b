/** When each answer was sampled, and prescribed answers (slow or from a lagging replica). */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Answer } from '../../src/sandbox/network/reads.ts';
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import type { VirtualTime } from './virtual-time.ts';

interface Prescription {
  readonly lateMs: number;
  readonly before?: () => void;
  readonly ageMs: number;
}

export interface Sampled {
  atMs: number | null;
  isTrue: boolean;
}

export class StoreSide {
  readonly #time: VirtualTime;
  readonly #asking = new AsyncLocalStorage<Sampled>();
  readonly #prescribed = new Map<string, Prescription[]>();

  constructor(time: VirtualTime, service: SimulatedService, isDistorting: () => boolean) {
    this.#time = time;
    const { reads } = service;
    const serve = reads.serve.bind(reads);
    reads.serve = ({ endpoint, body, sample }) => {
      const asking = this.#asking.getStore();
      const noted = (ageMs: number): Answer => {
        const atMs = time.nowMs - ageMs;
        if (asking !== undefined) {
          asking.atMs = Math.min(asking.atMs ?? atMs, atMs);
          asking.isTrue &&= !isDistorting();
        }
        return sample(ageMs);
      };
      const next = endpoint.endsWith('/detail') ? this.#next(String(body['product_id'])) : undefined;
      return next === undefined ? serve({ endpoint, body, sample: noted }) : this.#carryOut(next, noted);
    };
  }

  prescribe(productId: string, ...answers: readonly Prescription[]): void {
    this.#prescribed.set(productId, [...answers]);
  }

  forget(): void {
    this.#prescribed.clear();
  }

  async watch<T>(ask: () => Promise<T>): Promise<{ readonly answered: T; readonly sampled: Sampled }> {
    const sampled: Sampled = { atMs: null, isTrue: true };
    const answered = await this.#asking.run(sampled, ask);
    return { answered, sampled };
  }

  #next(productId: string): Prescription | undefined {
    return this.#prescribed.get(productId)?.shift();
  }

  async #carryOut(
    { lateMs, before, ageMs }: Prescription,
    sample: (ageMs: number) => Answer,
  ): Promise<Answer> {
    await this.#time.sleep(lateMs);
    before?.();
    await this.#time.sleep(20);
    return sample(ageMs);
  }
}
