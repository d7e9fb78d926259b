/** Changes of levels that no read of the total settles (docs/architecture.md#totals, "Unexplained levels"). */
import { expect, test } from 'vitest';
import type { StockChange } from '../../../src/core/input.ts';
import { FUTURE_DATED_AHEAD_MS } from '../../../src/core/limits.ts';
import type { ChangeBranch } from '../../../src/core/merge/change-outcome.ts';
import { judgeChange } from '../../../src/core/merge/judge-change.ts';
import { unmappedVariant } from '../../../src/core/merge/unknown.ts';
import type { StockLevel, Variant } from '../../../src/core/model.ts';
import { change, PRODUCT, stockLevel, T0, VARIANT } from '../builders.ts';
import { MemoryTables } from '../memory-tables.ts';

const AT = T0 + 60_000;

const variant = (over: Partial<Variant>): Variant => ({
  ...unmappedVariant(VARIANT, 'S-100'),
  productId: PRODUCT,
  availableQty: 50,
  ...over,
});

function judge(known: Variant, level: StockLevel | undefined, delivered: StockChange) {
  return judgeChange(
    {
      state: new MemoryTables().state(),
      level,
      variant: known,
      gaps: () => [],
    },
    delivered,
    { inboxSeq: 7, atMs: AT },
  );
}

const readAtT0 = stockLevel({ readHiMs: T0 });

test.each<[branch: ChangeBranch, level: StockLevel | undefined, delivered: StockChange, isOpen: boolean]>([
  ['2 stale, yet follows', stockLevel(), change({ old: 5, new: 8, updateTimeMs: T0 - 1 }), true],
  ['3 follows', readAtT0, change({ old: 5, new: 3 }), true],
  ['3 order unknown', readAtT0, change({ old: 7, new: 3 }), true],
  [
    'future-dated',
    stockLevel(),
    change({ old: 5, new: 3, updateTimeMs: AT + FUTURE_DATED_AHEAD_MS + 1 }),
    true,
  ],
  ['3 follows', stockLevel(), change({ old: 5, new: 3 }), false],
  ['2 stale', stockLevel(), change({ old: 7, new: 8, updateTimeMs: T0 - 1 }), false],
  ['1 new level', undefined, change({ old: 5, new: 3 }), false],
  ['4c follows', stockLevel(), change({ old: 5, new: 3, updateTimeMs: AT }), false],
])('the change "%s" leaves a level open that no read shows', (branch, level, delivered, isOpen) => {
  const inTotal = judge(variant({ kind: 'pulled' }), level, delivered);
  expect([inTotal.branch, inTotal.level.unexplainedAtMs]).toEqual([branch, isOpen ? AT : null]);
  const listed = judge(variant({ kind: 'own' }), level, delivered);
  expect([listed.branch, listed.level.unexplainedAtMs]).toEqual([branch, null]);
});
