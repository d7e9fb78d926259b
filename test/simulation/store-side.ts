/**
 * The store's side of a read: when each answer was sampled, which no client can know, and answers that the plan has
 * prescribed, from a slow way or a replica that lags.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Answer } from '../../src/sandbox/network/reads.ts';
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import type { VirtualTime } from './virtual-time.ts';

/** How the next answer about a product comes about. */
interface Prescription {
  /** On its way in for so long. */
  readonly lateMs: number;
  /** Happens just before it is sampled. */
  readonly before?: () => void;
  /** From a replica that is so far behind. */
  readonly ageMs: number;
}

export interface Sampled {
  /** The truth of then is what it shows; null while nothing was sampled. */
  atMs: number | null;
  /**
   * Nothing was done to answers then. One made wrong can still be on its way to the mirror when that has ended, and shows
   * what is not so all the same.
   */
  isTrue: boolean;
}

export class StoreSide {
  readonly #time: VirtualTime;
  readonly #asking = new AsyncLocalStorage<Sampled>();
  readonly #prescribed = new Map<string, Prescription[]>();

  /** Puts itself between the endpoints and the answers. @param isDistorting something is done to answers at present. */
  constructor(time: VirtualTime, service: SimulatedService, isDistorting: () => boolean) {
    this.#time = time;
    const { reads } = service;
    const serve = reads.serve.bind(reads);
    reads.serve = ({ endpoint, body, sample }) => {
      const asking = this.#asking.getStore();
      const noted = (ageMs: number): Answer => {
        const atMs = time.nowMs - ageMs;
        // One that is made of two shows the earlier.
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

  /** Whatever has not been asked for is not prescribed any more. */
  forget(): void {
    this.#prescribed.clear();
  }

  /** @returns what `ask` returns, and how the answer was sampled. */
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
    // What happened in the same instant it shows, and can be known to show.
    await this.#time.sleep(20);
    return sample(ageMs);
  }
}
