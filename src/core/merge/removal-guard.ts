/**
 * Holds mass removals for the operator: they are likelier
 * wrong answers (docs/architecture.md#mass-removal-guard).
 */
import type { ProductSnapshot, VariantSnapshot } from '../input.ts';
import { GUARD_ROWS, GUARD_SHARE, GUARD_WINDOW_MS } from '../limits.ts';
import type { MirrorStateRow, StockLevel, Variant } from '../model.ts';
import { absentLevels } from './judge-absence.ts';

type RemovalCount = Pick<
  MirrorStateRow,
  'removalWindowStartMs' | 'removalsInWindow' | 'variantRemovalsInWindow' | 'levelRemovalsInWindow'
>;

export function removalWindow(state: RemovalCount, atMs: number): RemovalCount {
  const ageMs = atMs - state.removalWindowStartMs;
  if (ageMs >= 0 && ageMs < GUARD_WINDOW_MS) return state;
  return {
    removalWindowStartMs: atMs,
    removalsInWindow: 0,
    variantRemovalsInWindow: 0,
    levelRemovalsInWindow: 0,
  };
}

export interface AtStake {
  readonly live: number;
  /** Live and shown by some read, not only by a list; counted up to `missing` + 1. */
  readonly shown: number;
  /** Live and sighted missing, including held ones, so that the end of a window releases nothing. */
  readonly missing: number;
  readonly removedInWindow: number;
}

export function guardHolds({ live, shown, missing, removedInWindow }: AtStake): boolean {
  const atStake = missing + removedInWindow;
  const before = live + removedInWindow;
  // In a small store too, wrong credentials are likelier than the loss of everything.
  if (shown + removedInWindow > 1 && missing >= shown) return true;
  return atStake > GUARD_ROWS && atStake > before * GUARD_SHARE;
}

/** Where counting missing rows may stop: from here on the guard holds, whatever was removed in the window. */
export function guardCountsTo(live: number): number {
  return Math.max(GUARD_ROWS, Math.floor(live * GUARD_SHARE)) + 1;
}

/** One read's answer about the rows of one kind that its product had before. */
interface ReadCount {
  readonly before: number;
  readonly missing: number;
  /** Several rows that nothing takes away together: variants of a product, or warehouses. */
  readonly missingGroups: number;
}

/**
 * Decides whether one read's removals of a kind wait for the operator: because the store would
 * have lost too much at once (`atStake`), or because this answer leaves out too much (`read`).
 */
export function judgeRemovals(atStake: AtStake, read: ReadCount | null): boolean {
  return guardHolds(atStake) || (read !== null && readHolds(read));
}

/**
 * All of several variants, or all levels in several
 * warehouses, are missing: a deleted product would answer 404.
 */
export function readHolds({ before, missing, missingGroups }: ReadCount): boolean {
  const isEmptied = missing === before && missingGroups > 1;
  return isEmptied || (missing > GUARD_ROWS && missing * 2 > before);
}

export function countVariants(
  live: readonly Variant[],
  { variants }: Pick<ProductSnapshot, 'variants'>,
): ReadCount {
  const shown = new Set(variants.map(({ variantId }) => variantId));
  const missing = live.filter(({ variantId }) => !shown.has(variantId)).length;
  return { before: live.length, missing, missingGroups: missing };
}

/**
 * Closing one warehouse is ordinary, even the only one.
 * @param listed the levels of each variant that lists any.
 */
export function countLevels(
  listed: readonly { readonly seen: VariantSnapshot; readonly levels: readonly StockLevel[] }[],
): ReadCount {
  const live = listed.flatMap(({ levels }) => levels.filter(({ goneAtMs }) => goneAtMs === null));
  const missing = listed.flatMap(({ seen, levels }) => absentLevels(levels, seen));
  const warehouseIds = new Set(missing.map(({ warehouseId }) => warehouseId));
  return { before: live.length, missing: missing.length, missingGroups: warehouseIds.size };
}

/** Stock without a warehouse: an own product's total is the sum of its warehouses. */
export function contradictsItself({ kind, levels, availableQty }: VariantSnapshot): boolean {
  return kind === 'own' && levels?.length === 0 && availableQty !== 0;
}
