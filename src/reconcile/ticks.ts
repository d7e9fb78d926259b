/** Scheduled reads (docs/architecture.md#schedule). Networks lose in bursts, so a proven loss runs a larger tick. */
import type { ReadingDeps } from './product-reader.ts';

/** 1.75 % of the products per tick: with the default schedule, all of them within 14 hours. */
const SHARE = { of: 400, products: 7 };
/** Small stores are read nearly whole at each tick. */
const LEAST_READS = 10;
const TIMES_AFTER_LOSS = 6;
const AFTER_LOSS_EVERY_MS = 5 * 60_000;

export class Ticks {
  readonly #deps: Pick<ReadingDeps, 'store' | 'now'>;
  #isLossOpen = false;
  #afterLossAtMs = Number.NEGATIVE_INFINITY;
  #debt = 0;

  constructor(deps: Pick<ReadingDeps, 'store' | 'now'>) {
    this.#deps = deps;
  }

  noteLoss(): void {
    this.#isLossOpen = true;
  }

  async run(): Promise<void> {
    await this.#deps.store.writer.command('retryFailures', undefined);
    const budget = await this.#budget();
    const paid = Math.min(this.#debt, Math.floor(budget / 2));
    this.#debt -= paid;
    await this.#read(budget - paid);
  }

  /** To be called often. @throws StoreError */
  async runAfterLoss(): Promise<void> {
    if (!this.#isLossOpen || this.#deps.now() < this.#afterLossAtMs + AFTER_LOSS_EVERY_MS) return;
    const reads = TIMES_AFTER_LOSS * (await this.#budget());
    this.#isLossOpen = false;
    try {
      await this.#read(reads);
    } catch (error) {
      this.#isLossOpen = true;
      throw error;
    }
    this.#afterLossAtMs = this.#deps.now();
    this.#debt = reads;
  }

  async #budget(): Promise<number> {
    const { products } = await this.#deps.store.reader.ask('liveCounts');
    return Math.max(LEAST_READS, Math.ceil((products * SHARE.products) / SHARE.of));
  }

  async #read(limit: number): Promise<void> {
    const productIds = await this.#deps.store.reader.ask('oldestEvidence', { limit });
    if (productIds.length === 0) return;
    await this.#deps.store.writer.append({
      kind: 'request_reads',
      atMs: this.#deps.now(),
      reason: 'stale',
      productIds,
      variantIds: [],
    });
  }
}
