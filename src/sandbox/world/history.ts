import type { RenderedProduct } from './answers.ts';

/** How long past states are kept. */
const KEEP_MS = 5_000;

interface Past {
  readonly productId: string;
  readonly untilMs: number;
  readonly state: RenderedProduct | null;
}

/**
 * Past states of recently changed products, for stale reads. Bounded by age across all products, so that a large
 * catalogue that changed once is not kept in memory twice.
 */
export class History {
  readonly #byProduct = new Map<string, Past[]>();
  #queue: Past[] = [];
  #head = 0;

  /** Keeps a product's state up to `atMs`; `state` is called only when that instant has no entry yet. */
  record(productId: string, atMs: number, state: () => RenderedProduct | null): void {
    this.#prune(atMs - KEEP_MS);
    const pasts = this.#byProduct.get(productId) ?? [];
    const last = pasts.at(-1);
    // Changes of one instant become visible together, so only the state before the first is kept.
    if (last !== undefined && last.untilMs >= atMs) return;
    const past: Past = { productId, untilMs: atMs, state: state() };
    pasts.push(past);
    this.#byProduct.set(productId, pasts);
    this.#queue.push(past);
  }

  /** The product's state at `atMs`; undefined when it has not changed since. */
  at(productId: string, atMs: number): RenderedProduct | null | undefined {
    return this.#byProduct.get(productId)?.find((past) => past.untilMs > atMs)?.state;
  }

  #prune(beforeMs: number): void {
    for (;;) {
      const oldest = this.#queue[this.#head];
      if (oldest === undefined || oldest.untilMs >= beforeMs) break;
      this.#head += 1;
      const pasts = this.#byProduct.get(oldest.productId);
      pasts?.shift();
      if (pasts?.length === 0) this.#byProduct.delete(oldest.productId);
    }
    if (this.#head > 1_000 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }
}
