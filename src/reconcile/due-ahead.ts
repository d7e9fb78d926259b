/**
 * What is to be read next, queried from the database a little ahead: the next request can then follow the last one
 * without a query in between. Never far ahead: a product that becomes urgent meanwhile must not wait behind it.
 */
import type { StoreReader } from '../mirror/reader/store-reader.ts';

interface DueAheadDeps {
  readonly reader: StoreReader;
  readonly now: () => number;
}

/** How long the result of a query counts. */
const FRESH_MS = 100;
/** Every fifth read goes to the product read longest ago, so that no flood of re-read requests starves it. */
const FAIR_SHARE = 5;
/** A product read this recently needs no fair share. */
const FAIR_AGE_MS = 10 * 60_000;

export class DueAhead {
  readonly #deps: DueAheadDeps;
  #due: string[] = [];
  #oldest: string[] = [];
  /** Taken since the query that is under way was sent: its answer may still name them. */
  #taken = new Set<string>();
  #foundAtMs = Number.NEGATIVE_INFINITY;
  #isExpired = false;
  #wanted = 0;
  #hasMore = false;
  #sinceFair = 0;

  constructor(deps: DueAheadDeps) {
    this.#deps = deps;
  }

  /** Whether the database should be queried again. */
  get isSpent(): boolean {
    return this.#isExpired || !this.#isFresh() || (this.#hasMore && this.#due.length <= this.#wanted / 2);
  }

  /** More may be due than was read. */
  get hasMore(): boolean {
    return this.#hasMore || this.#due.length > 0;
  }

  /** Something more urgent may have become due. */
  expire(): void {
    this.#isExpired = true;
  }

  /** @param exclude products whose read is under way. @throws StoreError */
  async ask(wanted: number, exclude: readonly string[]): Promise<void> {
    const { reader, now } = this.#deps;
    const nowMs = now();
    this.#taken = new Set();
    // Before the answer: an expiry meanwhile asks for another query.
    this.#isExpired = false;
    const { due, oldest } = await reader.ask('nextReads', {
      nowMs,
      limit: wanted,
      exclude,
      oldestBeforeMs: nowMs - FAIR_AGE_MS,
      oldestLimit: Math.ceil(wanted / FAIR_SHARE),
    });
    this.#foundAtMs = now();
    this.#wanted = wanted;
    this.#hasMore = due.length === wanted;
    this.#due = due.filter((productId) => !this.#taken.has(productId));
    this.#oldest = oldest.filter((productId) => !this.#taken.has(productId));
  }

  /** The next one; null when none is known to be due now. */
  take(): string | null {
    const [first] = this.#due;
    if (!this.#isFresh() || first === undefined) return null;
    const productId = this.#fairShare() ?? first;
    this.#due = this.#due.filter((one) => one !== productId);
    this.#oldest = this.#oldest.filter((one) => one !== productId);
    this.#taken.add(productId);
    return productId;
  }

  #fairShare(): string | null {
    this.#sinceFair += 1;
    if (this.#sinceFair < FAIR_SHARE) return null;
    this.#sinceFair = 0;
    return this.#oldest[0] ?? null;
  }

  #isFresh(): boolean {
    return this.#deps.now() - this.#foundAtMs < FRESH_MS;
  }
}
