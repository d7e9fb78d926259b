import type { RenderedProduct } from './answers.ts';

/** How long past states are kept. */
const KEEP_MS = 5_000;

type Past = { readonly productId: string; readonly untilMs: number; readonly state: RenderedProduct | null };

export type History = {
  /** Keeps a product's state up to `atMs`; `state` is called only when that instant has no entry yet. */
  record(productId: string, atMs: number, state: () => RenderedProduct | null): void;
  /** The product's state at `atMs`; undefined when it has not changed since. */
  at(productId: string, atMs: number): RenderedProduct | null | undefined;
};

/**
 * * Past states of recently changed products, for stale reads. Bounded by age across all products, so that a large
 * catalogue that changed once is not kept in memory twice.
 */
export function createHistory(): History {
  const byProduct = new Map<string, Past[]>();
  let queue: Past[] = [];
  let head = 0;

  const prune = (beforeMs: number): void => {
    for (; head < queue.length && queue[head]!.untilMs < beforeMs; head += 1) {
      const { productId } = queue[head]!;
      const pasts = byProduct.get(productId)!;
      pasts.shift();
      if (pasts.length === 0) byProduct.delete(productId);
    }
    if (head > 1_000 && head * 2 > queue.length) {
      queue = queue.slice(head);
      head = 0;
    }
  };

  return {
    record: (productId, atMs, state) => {
      prune(atMs - KEEP_MS);
      const pasts = byProduct.get(productId) ?? [];
      const last = pasts.at(-1);
      // Changes of one instant become visible together, so only the state before the first is kept.
      if (last !== undefined && last.untilMs >= atMs) return;
      const past: Past = { productId, untilMs: atMs, state: state() };
      pasts.push(past);
      byProduct.set(productId, pasts);
      queue.push(past);
    },
    at: (productId, atMs) => byProduct.get(productId)?.find((past) => past.untilMs > atMs)?.state,
  };
}
