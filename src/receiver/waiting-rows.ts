/** Rows that wait for the next commit, oldest first. */
import type { StreamPosition } from '../inbox/inbox-file.ts';
import type { SqliteFault } from '../sqlite/errors.ts';
import type { Arrival } from './inbox-writer.ts';

/** Enough to share a sync, few enough to answer in time. */
const ARRIVALS_AT_ONCE = 256;
const BYTES_AT_ONCE = 4 << 20;

/** Rows that are stored together. */
export interface Waiting {
  readonly arrivals: readonly Arrival[];
  /** Where they end in the stream; null if they were received here. */
  readonly position: StreamPosition | null;
  readonly resolve: () => void;
  readonly reject: (error: SqliteFault) => void;
}

export class WaitingRows {
  #waiting: Waiting[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
  }

  /** Takes out as much as one commit stores. */
  take(): readonly Waiting[] {
    let bytes = 0;
    let rows = 0;
    let groups = 0;
    for (const { arrivals } of this.#waiting) {
      if (rows >= ARRIVALS_AT_ONCE || bytes >= BYTES_AT_ONCE) break;
      for (const { body } of arrivals) bytes += body.byteLength;
      rows += arrivals.length;
      groups += 1;
    }
    return this.#waiting.splice(0, groups);
  }
}
