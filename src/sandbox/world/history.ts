import type { RenderedProduct } from './answers.ts';

/** How long past states are kept. */
const KEEP_MS = 5_000;

interface Past {
  readonly untilMs: number;
  readonly state: RenderedProduct | null;
}

/** Past states of recently changed products, for stale reads. */
export class History {
  // The product that changed last comes last.
  readonly #byProduct = new Map<string, Past[]>();

  /** Keeps a product's state up to `atMs`; `state` is called only when that instant has no entry yet. */
  record(productId: string, atMs: number, state: () => RenderedProduct | null): void {
    const pasts = this.#byProduct.get(productId) ?? [];
    // Changes of one instant become visible together, so only the state before the first is kept.
    if ((pasts.at(-1)?.untilMs ?? -Infinity) < atMs) {
      const kept = pasts.filter(({ untilMs }) => untilMs >= atMs - KEEP_MS);
      this.#byProduct.delete(productId);
      this.#byProduct.set(productId, [...kept, { untilMs: atMs, state: state() }]);
    }
    // A large catalogue that changed once must not stay in memory twice.
    for (const [id, all] of this.#byProduct) {
      if ((all.at(-1)?.untilMs ?? 0) >= atMs - KEEP_MS) break;
      this.#byProduct.delete(id);
    }
  }

  /** The product's state at `atMs`; undefined when it has not changed since. */
  at(productId: string, atMs: number): RenderedProduct | null | undefined {
    return this.#byProduct.get(productId)?.find((past) => past.untilMs > atMs)?.state;
  }
}
