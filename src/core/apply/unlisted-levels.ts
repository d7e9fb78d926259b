/**
 * Variants whose details tell a total and no warehouses (docs/architecture.md#totals): what another store sells, bundles,
 * and others where the store leaves them out. A total alone does not say which level is wrong.
 */
import { mayBeSeen, type ChangeBranch, type ChangeOutcome } from '../merge/change-outcome.ts';
import type { StockChange, VariantSnapshot } from '../input.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { EARLIEST_MS } from '../limits.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import type { StockLevel, Variant } from '../model.ts';

/** The warehouses of a bundle, and of what another store sells, stand in no read. Nor do others where the store leaves them out. */
function isInTotalOnly({ kind, totalHiMs }: Variant): boolean {
  return kind === 'pulled' || kind === 'bundle' || totalHiMs > EARLIEST_MS;
}

/** Where a re-read request means that another value may be the last of the stock level. */
const ORDER_UNCERTAIN: ReadonlySet<ChangeBranch> = new Set([
  '2 stale, yet follows',
  '3 follows',
  '3 order unknown',
  'future-dated',
]);

/** Whether the total that a read showed may hold the change already. */
export function mayBeInTotal(
  variant: Variant,
  change: StockChange,
  stamp: { readonly ahead: boolean },
): boolean {
  return mayBeSeen(variant.totalHiMs, change, stamp);
}

/** The read will show a total only, in which two such changes can cancel out: the next change of the level settles it. */
export function leavesLevelOpen(variant: Variant, { branch, requestRead }: ChangeOutcome): boolean {
  return isInTotalOnly(variant) && requestRead && ORDER_UNCERTAIN.has(branch);
}

/** A loss that a read showed in the total alone: the total holds what the level lacks. */
export function isInTotal(level: StockLevel): boolean {
  return level.unexplainedAtMs !== null;
}

/**
 * A total alone leaves no window in the levels below it. A change up to this instant that
 * arrives later may be in the total already, so it asks for a read, as rule 4b has it for a level that a read showed.
 */
export function totalHiMs(seen: VariantSnapshot, { hiMs }: ReadContext): number {
  return seen.levels === null ? hiMs : EARLIEST_MS;
}

/** The total moved, and no read shows in which warehouse. */
export function suspectLevels(work: UnitOfWork, variantId: string): void {
  for (const level of work.tables.stockLevelsOf(variantId)) {
    if (level.goneAtMs === null) work.tables.putStockLevel({ ...level, unexplainedAtMs: work.input.atMs });
  }
}
