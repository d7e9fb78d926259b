/** Variants read with a total but no warehouses (docs/architecture.md#totals): no read shows which level is wrong. */
import { mayBeSeen, type ChangeBranch, type ChangeOutcome } from '../merge/change-outcome.ts';
import type { StockChange, VariantSnapshot } from '../input.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { EARLIEST_MS } from '../limits.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import type { StockLevel, Variant } from '../model.ts';

function isInTotalOnly({ kind, totalHiMs }: Variant): boolean {
  return kind === 'pulled' || kind === 'bundle' || totalHiMs > EARLIEST_MS;
}

/** Branches after which another value may be the level's last. */
const ORDER_UNCERTAIN: ReadonlySet<ChangeBranch> = new Set([
  '2 stale, yet follows',
  '3 follows',
  '3 order unknown',
  'future-dated',
]);

export function mayBeInTotal(
  variant: Variant,
  change: StockChange,
  stamp: { readonly ahead: boolean },
): boolean {
  return mayBeSeen(variant.totalHiMs, change, stamp);
}

/** Two such changes can cancel out in a total, so no read settles the level; its next change does. */
export function leavesLevelOpen(variant: Variant, { branch, requestRead }: ChangeOutcome): boolean {
  return isInTotalOnly(variant) && requestRead && ORDER_UNCERTAIN.has(branch);
}

/** A read showed a loss in the total alone: the total includes what the level lacks. */
export function isInTotal(level: StockLevel): boolean {
  return level.unexplainedAtMs !== null;
}

/** A total sets no window in its levels: a change up to this instant may be in the total, so it requests a read. */
export function totalHiMs(seen: VariantSnapshot, { hiMs }: ReadContext): number {
  return seen.levels === null ? hiMs : EARLIEST_MS;
}

export function suspectLevels(work: UnitOfWork, variantId: string): void {
  for (const level of work.tables.stockLevelsOf(variantId)) {
    if (level.goneAtMs === null) work.tables.putStockLevel({ ...level, unexplainedAtMs: work.input.atMs });
  }
}
