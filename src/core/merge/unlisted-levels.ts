/**
 * Variants read with a total but no warehouses
 * (docs/architecture.md#totals): no read shows which level is wrong.
 */
import type { StockChange, VariantSnapshot } from '../input.ts';
import { EARLIEST_MS } from '../limits.ts';
import type { StockLevel, Variant } from '../model.ts';
import { mayBeSeen } from './change-outcome.ts';
import type { ReadContext } from './merge-read.ts';

/** Details of these kinds have no warehouses. */
export function isTotalOnly({ kind }: Pick<Variant, 'kind'>): boolean {
  return kind === 'pulled' || kind === 'bundle';
}

/** The last read of the total did not show every level. */
export function isReadWithoutLevels({ totalHiMs }: Pick<Variant, 'totalHiMs'>): boolean {
  return totalHiMs > EARLIEST_MS;
}

/** How many quantities of the variant can be sold: those of its levels, or its total. */
export function quantitiesOf(variant: Variant, levels: readonly StockLevel[]): number {
  const live = levels.filter(({ goneAtMs }) => goneAtMs === null).length;
  return isSoldByLevels(variant) && live > 0 ? live : Number(variant.availableQty !== null);
}

/** Reads show the quantities of its warehouses. */
export function isSoldByLevels(variant: Variant): boolean {
  return !isTotalOnly(variant) && !isReadWithoutLevels(variant);
}

export function mayBeInTotal(
  variant: Variant,
  change: StockChange,
  stamp: { readonly ahead: boolean },
): boolean {
  return mayBeSeen(variant.totalHiMs, change, stamp);
}

/**
 * A total sets no window in its levels: a change up to this
 * instant may be in the total, so it requests a read.
 */
export function totalHiMs(seen: VariantSnapshot, { hiMs }: ReadContext): number {
  return seen.levels === null ? hiMs : EARLIEST_MS;
}
