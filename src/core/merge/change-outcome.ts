import type { DeliveryInput, StockChange } from '../input.ts';
import { EARLIEST_MS } from '../limits.ts';
import type { StockLevel } from '../model.ts';

export const CHANGE_BRANCHES = [
  '1 new level',
  '2 stale',
  '2 stale, yet follows',
  '3 duplicate',
  '3 seen by the read',
  '3 follows',
  '3 precedes',
  '3 order unknown',
  '4a seen by the read',
  '4b confirmed',
  '4b uncertain',
  '4c follows',
  '4c gap',
  'gone, seen by the read',
  'gone, uncertain',
  'gone, shown again',
  'future-dated',
] as const;
export type ChangeBranch = (typeof CHANGE_BRANCHES)[number];

export interface ChangeOutcome {
  readonly branch: ChangeBranch;
  readonly level: StockLevel;
  readonly applied: boolean;
  readonly requestRead: boolean;
  readonly gap: { readonly fromQty: number; readonly toQty: number } | null;
}

/** The place of a change's delivery in the inbox, and its arrival. */
export type DeliveryTiming = Pick<DeliveryInput, 'inboxSeq' | 'atMs'>;

/** When a change arrived, and how its stamp compares with the clocks and with the reads of its level. */
export interface ChangeContext {
  /** Arrival of its delivery, own clock. */
  readonly atMs: number;
  readonly futureDated: boolean;
  readonly ahead: boolean;
  /** Store time: the latest read saw every change stamped before it (`lowWatermarkMs`). */
  readonly seenBeforeMs: number;
  readonly variantGoneAtMs: number | null;
  /** Details of the variant omit warehouses, so no read shows the level. */
  readonly isNeverListed: boolean;
}

/**
 * Whether a read with high watermark `hiMs` may have seen the
 * change; stamped ahead, it may be older than any read.
 */
export function mayBeSeen(
  hiMs: number,
  change: StockChange,
  { ahead }: { readonly ahead: boolean },
): boolean {
  return change.updateTimeMs <= hiMs || (ahead && hiMs > EARLIEST_MS);
}

export function withEvent(level: StockLevel, change: StockChange): StockLevel {
  return { ...level, eventTimeMs: change.updateTimeMs, eventOld: change.old, eventCount: 1 };
}

export function withValue(level: StockLevel, change: StockChange, context: ChangeContext): StockLevel {
  return {
    ...level,
    qty: change.new,
    source: 'webhook',
    // A future-dated stamp does not tell when the value was true; its arrival does.
    asOfMs: context.futureDated ? context.atMs : change.updateTimeMs,
  };
}
