/**
 * What the schedule reads (docs/freshness.md): the reader's thread takes note of what came since the last time in portions, so
 * that it can answer others in between, and then chooses.
 */
import type { Fact } from '../core/apply/fact.ts';
import type { ProvenGap } from '../mirror/queries/read-knowledge.ts';
import type { StoreReader } from '../mirror/reader/store-reader.ts';
import { sleep } from '../platform/sleep.ts';

interface ScheduledReadsDeps {
  readonly reader: StoreReader;
  readonly now: () => number;
  readonly readsPerHour: number;
  readonly longestMs: number;
}

const HOUR_MS = 60 * 60_000;
/** The schedule has time. */
const BETWEEN_MS = 5;
/** More say nothing more. */
const MOST_GAPS = 1_000;

export class ScheduledReads {
  readonly #deps: ScheduledReadsDeps;
  #gaps: ProvenGap[] = [];
  #chosenAtMs: number;

  constructor(deps: ScheduledReadsDeps) {
    this.#deps = deps;
    this.#chosenAtMs = deps.now();
  }

  /** To be called with whatever is applied. */
  note(fact: Fact): void {
    if (fact.kind !== 'gap_proved' || this.#gaps.length >= MOST_GAPS) return;
    this.#gaps.push({ productId: fact.productId, openedAtMs: fact.gap.openedAtMs });
  }

  /** @returns the most valuable first. @throws StoreError; the signal's reason. */
  async choose(signal: AbortSignal): Promise<string[]> {
    const { reader, now, readsPerHour, longestMs } = this.#deps;
    for (
      let gaps = this.#gaps.splice(0);
      !(await reader.ask('noteActivity', { nowMs: now(), gaps }));
      gaps = []
    ) {
      await sleep(BETWEEN_MS, signal);
    }
    const nowMs = now();
    const elapsedMs = nowMs - this.#chosenAtMs;
    // A schedule so frequent that its share is less than a read saves up for one.
    if (elapsedMs * readsPerHour < HOUR_MS && elapsedMs < HOUR_MS) return [];
    const productIds = await reader.ask('planReads', { nowMs, elapsedMs, readsPerHour, longestMs });
    this.#chosenAtMs = nowMs;
    return productIds;
  }
}
