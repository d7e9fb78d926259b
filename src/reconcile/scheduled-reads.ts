/**
 * What the schedule reads: it goes through all products in portions, so that the reader's thread can answer others in
 * between.
 */
import type { ScheduledRead } from '../mirror/queries/queue.ts';
import type { StoreReader } from '../mirror/reader/store-reader.ts';
import { sleep } from './pause.ts';

interface SearchOptions {
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly variantsAtOnce?: number;
}

/** A few milliseconds of the reader's time. */
const VARIANTS_AT_ONCE = 2_000;
/** The schedule has time. */
const BETWEEN_MS = 5;

/** @returns the most recently changed products first, at most `limit`. @throws StoreError; the signal's reason. */
export async function findScheduledReads(
  reader: StoreReader,
  { limit, signal, variantsAtOnce = VARIANTS_AT_ONCE }: SearchOptions,
): Promise<string[]> {
  let latest: ScheduledRead[] = [];
  for (let after = ''; ;) {
    const { reads, upTo } = await reader.ask('scheduledReads', { after, variants: variantsAtOnce });
    latest.push(...reads);
    // After a proven loss it may be every product.
    if (latest.length > 2 * limit) latest = latestOf(latest, limit);
    if (upTo === null) return latestOf(latest, limit).map(({ productId }) => productId);
    after = upTo;
    await sleep(BETWEEN_MS, signal);
  }
}

function latestOf(reads: readonly ScheduledRead[], limit: number): ScheduledRead[] {
  return reads.toSorted((a, b) => b.eventAtMs - a.eventAtMs).slice(0, limit);
}
