/** The status for pages that are asked for all the time: what costs little is of now, the counts of a moment ago. */
import type { Status } from '../../store/queries/status.ts';
import type { StoreReader } from '../../store/store.ts';

/** Counting may take one part in this many of the reader's time. */
const SHARE = 20;
/** A count that takes longer than this is waited for only once, by the first who looks. */
const QUICK_MS = 25;

export class StatusWatch {
  readonly #reader: StoreReader;
  #counted: Status | null = null;
  /** On the monotonic clock. */
  #recountAtMs = Number.NEGATIVE_INFINITY;
  #counting: Promise<Status> | null = null;
  #wasQuick = true;

  constructor(reader: StoreReader) {
    this.#reader = reader;
  }

  async status(): Promise<Status> {
    if (this.#counted === null || performance.now() >= this.#recountAtMs) {
      const counting = (this.#counting ??= this.#count());
      if (this.#counted === null || this.#wasQuick) return counting;
      // Should it fail, so does what is asked next, or the next count.
      counting.catch(() => undefined);
    }
    return { ...this.#counted, ...(await this.#reader.ask('glance')) };
  }

  async #count(): Promise<Status> {
    const beganMs = performance.now();
    try {
      this.#counted = await this.#reader.ask('status');
      return this.#counted;
    } finally {
      const tookMs = performance.now() - beganMs;
      this.#wasQuick = tookMs < QUICK_MS;
      this.#recountAtMs = performance.now() + tookMs * SHARE;
      this.#counting = null;
    }
  }
}
