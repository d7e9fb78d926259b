/** Removals that wait for an operator, and the counts by which the mass-removal guard decides that. */
import type { AllowRemovalsInput } from '../input.ts';
import { HELD_MS } from '../limits.ts';
import { guardCountsTo, guardHolds, removalWindow, type AtStake } from '../merge/removal-guard.ts';
import type { Product, StockLevel } from '../model.ts';
import type { UnitOfWork } from './unit-of-work.ts';

export type Sighted = Pick<StockLevel, 'missingAtMs'>;

/** Call after everything that the read omits was marked missing. @returns whether the removals were held. */
export function holdIfMany(
  work: UnitOfWork,
  { productId, removalAllowedBy }: Product,
  rows: readonly Sighted[],
): boolean {
  if (rows.length === 0 || removalAllowedBy !== null) return false;
  const quantities = atStake(work);
  if (!guardHolds(quantities)) return false;
  work.report({ kind: 'removals_held', productId, missing: quantities.missing });
  for (const { missingAtMs } of rows) {
    // As old as the sighting, so that the next read still meets an
    // open request that this read came too early for.
    const atMs = missingAtMs ?? work.input.atMs;
    work.requestRead(productId, 'confirm_removal', { atMs, notBeforeMs: HELD_MS });
  }
  return true;
}

/** The reads of these products carry it out, or find that the store shows them again. */
export function applyDecision(work: UnitOfWork, { productIds, by, reason }: AllowRemovalsInput): void {
  const { tables } = work;
  const allowed: string[] = [];
  for (const productId of productIds ?? tables.heldProducts()) {
    const product = tables.product(productId);
    if (product === undefined || product.goneAtMs !== null) continue;
    tables.putProduct({ ...product, removalAllowedBy: by });
    work.requestRead(productId, 'operator');
    allowed.push(productId);
  }
  work.report({ kind: 'removals_allowed', atMs: work.input.atMs, productIds: allowed, by, reason });
}

function atStake({ input, state, tables }: UnitOfWork): AtStake {
  const live = tables.quantityCount();
  const { removedInWindow } = removalWindow(state, input.atMs);
  return { live, missing: tables.missingQuantities(guardCountsTo(live)), removedInWindow };
}

/** Call before the removal of a level, or of a variant with its levels. */
export function countRemoval(work: UnitOfWork, quantities: number): void {
  const { removalWindowStartMs, removedInWindow } = removalWindow(work.state, work.input.atMs);
  work.state = { ...work.state, removalWindowStartMs, removedInWindow: removedInWindow + quantities };
}
