/**
 * Which products to read next: those of which a read saves the most wrong time (docs/freshness.md#the-order-of-reads).
 * Products of one rate class differ only in how long ago they were last certain, so only the first of each class has to be
 * looked at, however large the catalogue.
 */
import { faded, rateClassOf, shareOf, type StoreActivity } from './activity.ts';
import { lostSince, type Losses } from './loss-history.ts';
import { expectedWrong, readValueMs, type Uncertainty } from './read-value.ts';

/** What is known of a product. */
export interface Candidate {
  readonly productId: string;
  /** Of its changes, as of the last of them. */
  readonly changes: number;
  readonly changedAtMs: number;
  readonly readAtMs: number;
  readonly levels: number;
}

/** Where a product stands. */
interface Place {
  readonly rateClass: number;
  readonly certainAtMs: number;
}

export interface Candidates {
  /** The classes that have products. */
  readonly classes: readonly number[];
  /** The next of a class, by `certainAtMs`; null: there is none. */
  next(rateClass: number): Candidate | null;
}

interface Chosen {
  readonly productId: string;
  /** Wrong level-milliseconds that reading it now saves. */
  readonly savesMs: number;
  readonly expectedWrong: number;
}

interface Choice {
  /** The most valuable first. */
  readonly chosen: readonly Chosen[];
  /** These stand in a class that is no longer theirs. */
  readonly misplaced: readonly Candidate[];
}

interface Wanted {
  readonly limit: number;
  /** Reads that save less are not worth it. */
  readonly leastMs: number;
  readonly losses: Losses;
  readonly store: StoreActivity;
}

/** Reads that save less wrong time are not made. */
export const LEAST_MS = 1_000;
/** A product that stands wrong costs a look; beyond so many for each read the rest of its class waits for the next choice. */
const LOOKS_A_READ = 8;

export function chooseReads(candidates: Candidates, wanted: Wanted): Choice {
  const { limit, leastMs, losses } = wanted;
  const chosen: Chosen[] = [];
  const misplaced: Candidate[] = [];
  const fronts = new Map<number, Chosen>();
  let looksLeft = LOOKS_A_READ * (limit + candidates.classes.length);
  const advance = (rateClass: number): void => {
    fronts.delete(rateClass);
    for (; looksLeft > 0; looksLeft--) {
      const candidate = candidates.next(rateClass);
      if (candidate === null) return;
      if (placeOf(candidate, losses.nowMs, wanted.store).rateClass !== rateClass) {
        misplaced.push(candidate);
        continue;
      }
      const uncertainty = uncertaintyOf(candidate, wanted);
      fronts.set(rateClass, {
        productId: candidate.productId,
        savesMs: readValueMs(uncertainty, losses.lossRate),
        expectedWrong: expectedWrong(uncertainty),
      });
      return;
    }
  };
  for (const rateClass of candidates.classes) advance(rateClass);
  while (chosen.length < limit) {
    let best = -1;
    let first: Chosen | undefined;
    for (const [rateClass, one] of fronts) {
      if (first === undefined || one.savesMs > first.savesMs) [best, first] = [rateClass, one];
    }
    if (first === undefined || first.savesMs < leastMs) break;
    chosen.push(first);
    advance(best);
  }
  return { chosen, misplaced };
}

/** Where the product belongs now. Of its levels one is certain since its last change, the others since its last read. */
export function placeOf(
  { changes, changedAtMs, readAtMs, levels }: Candidate,
  nowMs: number,
  store: StoreActivity,
): Place {
  return {
    rateClass: rateClassOf(shareOf(faded(changes, nowMs - changedAtMs), store)),
    certainAtMs: Math.round(readAtMs + Math.max(0, changedAtMs - readAtMs) / levels),
  };
}

function uncertaintyOf(candidate: Candidate, { losses, store }: Wanted): Uncertainty {
  const { changes, changedAtMs, readAtMs, levels } = candidate;
  const share = shareOf(faded(changes, losses.nowMs - changedAtMs), store);
  return {
    lostSinceRead: share * lostSince(losses, readAtMs),
    lostSinceChange: share * lostSince(losses, Math.max(changedAtMs, readAtMs)),
    changesPerMs: share * losses.changesPerMs,
    levels,
  };
}
