/** Breaks of a level's `old` → `new` chain (docs/architecture.md#gaps). */
import type { StockChange } from '../input.ts';
import { GAP_GRACE_MAX_MS, GAP_GRACE_MIN_MS, GAPS_OF_A_LEVEL } from '../limits.ts';
import type { Gap, MirrorStateRow, StockLevel } from '../model.ts';
import type { ChangeBranch, ChangeOutcome, DeliveryTiming } from './change-outcome.ts';

export type GapDoubt = 'chain broken twice' | 'too many gaps' | 'no gap fits';

export type GapVerdict =
  | { readonly kind: 'none' }
  | { readonly kind: 'opened'; readonly gap: Gap }
  | { readonly kind: 'closed'; readonly gap: Gap }
  | { readonly kind: 'narrowed'; readonly gap: Gap }
  | { readonly kind: 'doubtful'; readonly doubt: GapDoubt };

const NONE: GapVerdict = { kind: 'none' };

const OUT_OF_ORDER: ReadonlySet<ChangeBranch> = new Set(['2 stale', '2 stale, yet follows', '3 precedes']);

export function isOutOfOrder(branch: ChangeBranch): boolean {
  return OUT_OF_ORDER.has(branch);
}

type GapTiming = DeliveryTiming & Pick<MirrorStateRow, 'latenessMs'>;

/**
 * Decides which gap a change opens, closes or narrows.
 * @param gaps the level's open ones of that kind; asked for only if needed.
 */
export function judgeGap(
  outcome: ChangeOutcome,
  change: StockChange,
  timing: GapTiming,
  gaps: () => readonly Gap[],
): GapVerdict {
  if (outcome.gap !== null) return judgeBreak(outcome.gap, change, timing, gaps());
  return isOutOfOrder(outcome.branch) ? judgeLateChange(outcome.level, change, gaps()) : NONE;
}

function judgeBreak(
  { fromQty, toQty }: { readonly fromQty: number; readonly toQty: number },
  change: StockChange,
  { inboxSeq, atMs, latenessMs }: GapTiming,
  gaps: readonly Gap[],
): GapVerdict {
  // One gap cannot represent both breaks of one body.
  if (gaps.some((gap) => gap.inboxSeq === inboxSeq)) return { kind: 'doubtful', doubt: 'chain broken twice' };
  if (gaps.length >= GAPS_OF_A_LEVEL) return { kind: 'doubtful', doubt: 'too many gaps' };
  const { variantId, warehouseId } = change;
  const dueAtMs = atMs + gapGraceMs(latenessMs);
  const openedAtMs = atMs;
  return {
    kind: 'opened',
    gap: { variantId, warehouseId, inboxSeq, kind: 'loss', openedAtMs, dueAtMs, fromQty, toQty },
  };
}

function judgeLateChange(level: StockLevel, change: StockChange, gaps: readonly Gap[]): GapVerdict {
  const closed = gaps.find(({ fromQty, toQty }) => fromQty === change.old && toQty === change.new);
  if (closed !== undefined) return { kind: 'closed', gap: closed };
  // A change in the middle of a longer break cannot be placed.
  const narrowed = gaps.find(({ fromQty, toQty }) => fromQty === change.old || toQty === change.new);
  if (narrowed !== undefined) {
    const isStart = narrowed.fromQty === change.old;
    const gap = isStart ? { ...narrowed, fromQty: change.new } : { ...narrowed, toQty: change.old };
    return { kind: 'narrowed', gap };
  }
  // A difference counts below the low watermark too: once the
  // store's clock is set back, new changes have older stamps.
  const isExplained = change.new === level.qty && change.updateTimeMs < level.readLoMs;
  return isExplained ? NONE : { kind: 'doubtful', doubt: 'no gap fits' };
}

/** The question whether the last read or a change is newer. */
export type OrderVerdict = 'none' | 'opened' | 'ended';

/** A change after the last read has the newest value, whatever came before it. Further ones find no order open. */
export function judgeOrder(
  before: StockLevel | undefined,
  { branch }: Pick<ChangeOutcome, 'branch'>,
  { ahead }: { readonly ahead: boolean },
): OrderVerdict {
  if (branch === '4b uncertain' && !ahead) return 'opened';
  const isAfterRead = branch === '4c follows' || branch === '4c gap';
  return isAfterRead && before !== undefined && before.eventTimeMs <= before.readHiMs ? 'ended' : 'none';
}

export function gapGraceMs(latenessMs: number): number {
  return Math.round(Math.min(GAP_GRACE_MAX_MS, Math.max(GAP_GRACE_MIN_MS, 2 * latenessMs)));
}

/** Rises at once with a later change, falls slowly with prompter ones. */
export function observeLateness(latenessMs: number, observedMs: number): number {
  return Math.max(0, Math.round(Math.max(observedMs, latenessMs + (observedMs - latenessMs) / 10)));
}
