/**
 * Counts what is left of each run under way. For a large catalogue that means going through a large index, which
 * delays every other query: so each call goes through a portion of it, and a complete count is ready every few calls.
 */
import type { Run } from '../core/runs.ts';
import type { ReadPlace, Remaining } from '../mirror/queries/runs.ts';
import type { StoreReader } from '../mirror/reader/store-reader.ts';

interface Left {
  /**
   * Null: nothing new is known yet. Products may be read, and become known, while they are counted; but when it is no
   * more than `parked`, then both are of one moment.
   */
  readonly unread: number | null;
  readonly parked: number;
  readonly total: number;
}

interface Portions {
  readonly unread: number;
  readonly after: ReadPlace;
}

/** A few milliseconds of the reader's time. */
const COUNT_TO = 20_000;

export class UnreadCount {
  readonly #reader: StoreReader;
  readonly #countTo: number;
  /** Counts under way, by run. */
  readonly #portions = new Map<number, Portions>();

  /** @param countTo products in a portion. */
  constructor(reader: StoreReader, countTo = COUNT_TO) {
    this.#reader = reader;
    this.#countTo = countTo;
  }

  /** @throws StoreError */
  async next(run: Run, nowMs: number): Promise<Left> {
    const begun = this.#portions.get(run.id);
    const { unread, more, parked, total } = await this.#ask(run, nowMs, begun?.after ?? null, this.#countTo);
    const sum = (begun?.unread ?? 0) + unread;
    if (more !== null) {
      this.#portions.set(run.id, { unread: sum, after: more });
      return { unread: null, parked, total };
    }
    this.#portions.delete(run.id);
    if (begun === undefined || sum > parked) return { unread: sum, parked, total };
    // Only products that are given up are left, more of them than a portion: these are counted whole once, at the
    // end.
    return this.#ask(run, nowMs, null, parked + 1);
  }

  #ask(
    { readAfterMs, productIds }: Run,
    nowMs: number,
    after: ReadPlace | null,
    countTo: number,
  ): Promise<Remaining> {
    return this.#reader.ask('remainingOf', { readAfterMs, productIds, nowMs, after, countTo });
  }

  /** @param runs under way: no other run will be asked about again. */
  keepOnly(runs: readonly Run[]): void {
    const ids = new Set(runs.map(({ id }) => id));
    for (const id of this.#portions.keys()) if (!ids.has(id)) this.#portions.delete(id);
  }
}
