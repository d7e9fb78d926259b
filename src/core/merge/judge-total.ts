import type { VariantSnapshot } from '../input.ts';
import { EARLIEST_MS } from '../limits.ts';
import type { Variant } from '../model.ts';
import { isConcurrent, type ReadContext } from './merge-read.ts';
import { totalHiMs } from './unlisted-levels.ts';

export interface TotalVerdict {
  readonly variant: Variant;
  /** A movement that the levels do not explain, for the feed. */
  readonly moved: { readonly oldQty: number | null; readonly newQty: number } | null;
  readonly isDoubted: boolean;
}

interface ListedLevels {
  /** How far the read moves the sum of the variant's live levels. */
  readonly explainedQty: number;
  /** The sum of those that the answer lists, before it. */
  readonly beforeQty: number;
}

/**
 * Decides what the total of an answer proves; the levels of the same answer are judged before it. Changes move a
 * total by differences, so a concurrent read may agree by chance. If it differs just as the listed levels do, it
 * moves with them and is as certain as they are: they contain the changes that the read did not see.
 */
export function judgeTotal(
  variant: Variant,
  seen: VariantSnapshot,
  { explainedQty, beforeQty }: ListedLevels,
  read: ReadContext,
): TotalVerdict {
  const oldQty = variant.goneAtMs === null ? variant.availableQty : null;
  const newQty = seen.availableQty;
  const concurrent = isConcurrent(variant, read);
  const movesWithLevels =
    oldQty !== null && seen.levels !== null && newQty - oldQty === listedQty(seen.levels) - beforeQty;
  const isDoubted = concurrent && !movesWithLevels;
  if (concurrent && movesWithLevels && !read.superseded) {
    const availableQty = oldQty + explainedQty;
    const asOfMs = explainedQty === 0 ? variant.asOfMs : read.sentAtMs;
    const { onHand, reservedQty } = seen;
    const shown = availableQty === newQty ? { onHand, reservedQty, verifiedAtMs: read.sentAtMs } : {};
    return {
      variant: { ...variant, availableQty, asOfMs, ...shown },
      moved: null,
      isDoubted,
    };
  }
  if (read.superseded || (concurrent && oldQty !== null && oldQty !== newQty)) {
    return { variant, moved: null, isDoubted };
  }
  const isExplained = seen.levels !== null && newQty - (oldQty ?? 0) === explainedQty;
  return {
    variant: {
      ...variant,
      availableQty: newQty,
      onHand: seen.onHand,
      reservedQty: seen.reservedQty,
      asOfMs: oldQty === newQty ? variant.asOfMs : read.sentAtMs,
      verifiedAtMs: concurrent && oldQty === null ? variant.verifiedAtMs : read.sentAtMs,
      totalHiMs: Math.max(concurrent ? variant.totalHiMs : EARLIEST_MS, totalHiMs(seen, read)),
      missingAtMs: null,
      goneAtMs: null,
      lookupAtMs: null,
    },
    moved: oldQty === newQty || isExplained ? null : { oldQty, newQty },
    isDoubted,
  };
}

function listedQty(levels: NonNullable<VariantSnapshot['levels']>): number {
  return levels.reduce((sum, { availableQty }) => sum + availableQty, 0);
}
