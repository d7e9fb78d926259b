/** One change, judged against the rows that a test gives. */
import type { StockChange } from '../../../src/core/input.ts';
import { judgeChange, type ChangeVerdict } from '../../../src/core/merge/judge-change.ts';
import { unmappedVariant } from '../../../src/core/merge/unknown.ts';
import type { Gap, MirrorStateRow, StockLevel, Variant } from '../../../src/core/model.ts';
import { change, PRODUCT, stockLevel, T0, VARIANT } from '../builders.ts';
import { MemoryTables } from '../memory-tables.ts';

/** Arrival of the change. */
export const AT = T0 + 60_000;
export const INBOX_SEQ = 7;

export const variant = (over: Partial<Variant> = {}): Variant => ({
  ...unmappedVariant(VARIANT, 'S-100'),
  productId: PRODUCT,
  availableQty: 50,
  ...over,
});

export interface Known {
  readonly state?: Partial<MirrorStateRow>;
  readonly level?: StockLevel | undefined;
  readonly variant?: Variant;
  readonly gaps?: readonly Gap[];
}

export function judge(known: Known, delivered: StockChange): ChangeVerdict {
  const level = 'level' in known ? known.level : stockLevel();
  return judgeChange(
    {
      state: { ...new MemoryTables().state(), ...known.state },
      level,
      variant: known.variant ?? variant(),
      gaps: () => known.gaps ?? [],
    },
    delivered,
    { inboxSeq: INBOX_SEQ, atMs: AT },
  );
}

/** Follows the level of `stockLevel()`. */
export const next = change({ old: 5, new: 4, updateTimeMs: AT });

/** The store's clock is not ahead of the own one, so a later stamp comes from a wrong clock. */
export const sameClocks = { offsetCeilingMs: 0 };
export const stampedAhead = change({ old: 5, new: 4, updateTimeMs: AT + 1_001 });
export const futureDated = change({ old: 5, new: 4, updateTimeMs: AT + 400_000 });
