import type { StockChange } from '../input.ts';
import { EARLIEST_MS } from '../limits.ts';
import type { Gap, MirrorStateRow, StockLevel, Variant } from '../model.ts';
import type { ChangeBranch, DeliveryTiming } from './change-outcome.ts';
import {
  isDateDropped,
  isStampedAhead,
  isFutureDated,
  lowWatermarkMs,
  observeArrival,
  offsetFloorMs,
  weighDate,
} from './clock-bounds.ts';
import {
  isOutOfOrder,
  judgeGap,
  judgeOrder,
  observeLateness,
  type GapDoubt,
  type GapVerdict,
  type OrderVerdict,
} from './judge-gap.ts';
import { mergeChange } from './merge-change.ts';
import { isTotalOnly, mayBeInTotal } from './unlisted-levels.ts';
import { searchFor } from './unknown.ts';

/** The reasons to read the variant's product. */
export type Doubt =
  /** The rules of the level cannot order the change. */
  | 'order unknown'
  /** A total that was read without its levels may contain the change. */
  | 'perhaps in the total'
  | GapDoubt;

/** The mirror before the change. */
interface ChangedRows {
  readonly state: MirrorStateRow;
  readonly level: StockLevel | undefined;
  readonly variant: Variant;
  /** The level's open gaps of the kind `loss`, read only if the change concerns them. */
  readonly gaps: () => readonly Gap[];
}

export interface ChangeVerdict {
  readonly branch: ChangeBranch;
  /** Both without their change numbers. */
  readonly level: StockLevel;
  readonly variant: Variant;
  /** The change set the level's quantity. */
  readonly isApplied: boolean;
  readonly gap: GapVerdict;
  readonly order: OrderVerdict;
  readonly doubts: readonly Doubt[];
  /** null if the total stays. A movement that the level does not explain gets its own row in the feed. */
  readonly total: { readonly oldQty: number; readonly newQty: number; readonly isExplained: boolean } | null;
  readonly latenessMs: number;
  readonly dateContradictions: number;
  readonly offset: ReturnType<typeof observeArrival>;
}

/**
 * Decides what one change of a delivery does to its level (rules 1 to 4, `mergeChange`), to the gaps of
 * the level's chain, to the variant's total and to the bounds of the clocks. The verdict also lists the
 * reasons to read the product.
 */
export function judgeChange(rows: ChangedRows, change: StockChange, timing: DeliveryTiming): ChangeVerdict {
  const { state, level: before, variant } = rows;
  const { atMs } = timing;
  const futureDated = isFutureDated(change.updateTimeMs, atMs, state);
  const ahead = isStampedAhead(change.updateTimeMs, atMs, state);
  // A clock that is ahead says nothing about the other nodes' clocks. Without the Date, only arrivals tell which are ahead.
  const isAheadOfDate = ahead && !isDateDropped(state);
  const offset = futureDated || isAheadOfDate ? state : observeArrival(state, change.updateTimeMs, atMs);
  // As a change ahead, one of a clock that was set back may be older than any read.
  const stamp = { ahead: ahead || change.updateTimeMs <= (state.stampedUntilMs ?? EARLIEST_MS) };
  const bounds = { ...offset, dateContradictions: state.dateContradictions };
  const outcome = mergeChange(before, change, {
    atMs,
    futureDated,
    ...stamp,
    seenBeforeMs: before === undefined ? EARLIEST_MS : lowWatermarkMs(before, bounds),
    variantGoneAtMs: variant.goneAtMs,
    isNeverListed: isTotalOnly(variant),
  });
  const { branch } = outcome;
  const isLate = isOutOfOrder(branch);
  const latenessMs = isLate ? observeLate(state, offset, change, atMs) : state.latenessMs;
  const gap = judgeGap(outcome, change, { ...timing, latenessMs }, rows.gaps);
  // The total of a read that left the level out lacks the level's quantity.
  const isLeftOut = before !== undefined && before.goneAtMs === null && before.missingAtMs !== null;
  const total = outcome.applied ? judgeTotalMove(before, outcome.level, variant, change) : null;

  const doubts: Doubt[] = [];
  const order = judgeOrder(before, outcome, { ahead });
  if (outcome.requestRead && order === 'none') doubts.push('order unknown');
  if (isLeftOut || ((outcome.applied || isLate) && mayBeInTotal(variant, change, stamp))) {
    doubts.push('perhaps in the total');
  }
  if (gap.kind === 'doubtful') doubts.push(gap.doubt);

  // A change that the last read saw says nothing about where the variant is now.
  const isSought = doubts.length > 0 || order === 'opened' || variant.lookupAtMs !== null;
  // This branch keeps the quantity that the read showed.
  const isWeighed = branch === '4a seen by the read' && !ahead;
  return {
    branch,
    level: outcome.level,
    variant: {
      ...variant,
      eventAtMs: Math.max(variant.eventAtMs, atMs),
      ...(isSought ? searchFor(variant, atMs) : {}),
      availableQty: total === null ? variant.availableQty : total.newQty,
      asOfMs: total === null ? variant.asOfMs : outcome.level.asOfMs,
    },
    isApplied: outcome.applied,
    gap,
    order,
    doubts,
    total,
    latenessMs,
    dateContradictions: isWeighed
      ? weighDate(state, outcome.level, change, atMs).dateContradictions
      : state.dateContradictions,
    offset,
  };
}

function observeLate(
  { latenessMs }: MirrorStateRow,
  offset: ChangeVerdict['offset'],
  { updateTimeMs }: StockChange,
  atMs: number,
): number {
  const floorMs = offsetFloorMs(offset);
  return floorMs === null
    ? latenessMs
    : observeLateness(latenessMs, Math.max(0, atMs + floorMs - updateTimeMs));
}

/** The total already includes a new level's `old`. */
function judgeTotalMove(
  before: StockLevel | undefined,
  after: StockLevel,
  { availableQty: total }: Variant,
  { old }: StockChange,
): ChangeVerdict['total'] {
  if (total === null) return null;
  // A restored level is a new row.
  const shown = before?.goneAtMs === null ? before : undefined;
  const moveQty = after.qty - (shown?.qty ?? old);
  if (moveQty === 0) return null;
  const isExplained = moveQty === after.qty - (shown?.qty ?? 0);
  return { oldQty: total, newQty: total + moveQty, isExplained };
}

/** The doubts ask for a read of the variant's product; a variant without one is searched for instead. */
export function asksForRead({ doubts }: ChangeVerdict, before: Variant): boolean {
  // A removed variant that is being searched for keeps its old product, whose read cannot settle the doubts.
  return doubts.length > 0 && before.productId !== null && before.lookupAtMs === null;
}
