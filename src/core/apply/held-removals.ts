/** Removals that wait for an operator, and the counts by which the mass-removal guard decides that. */
import { HELD_MS } from '../limits.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import { guardCountsTo, removalWindow, type AtStake } from '../merge/removal-guard.ts';
import type { Removable } from './fact.ts';
import { assertSighted, type Sighted } from './remove-rows.ts';
import type { UnitOfWork } from './unit-of-work.ts';

export function isAllowed({ input, state }: UnitOfWork): boolean {
  return input.atMs <= state.removalsAllowedUntilMs;
}

/** Variants and levels that go with their product or variant are not counted separately. */
const COUNTER = {
  product: 'removalsInWindow',
  variant: 'variantRemovalsInWindow',
  level: 'levelRemovalsInWindow',
} as const;

/** Call after everything that the read omits was marked missing. */
export function atStake({ input, state, tables }: UnitOfWork, kind: Removable): AtStake {
  const removedInWindow = removalWindow(state, input.atMs)[COUNTER[kind]];
  const live = tables.liveCount(kind);
  const missing = tables.missingCount(kind, guardCountsTo(live));
  const shown = kind === 'product' ? tables.shownProductCount(missing + 1) : live;
  return { live, shown, missing, removedInWindow };
}

export function hold(work: UnitOfWork, what: Removable, productId: string, rows: readonly Sighted[]): void {
  if (rows.length === 0) return;
  work.report({ kind: 'removals_held', what, productId, missing: atStake(work, what).missing });
  for (const { missingAtMs } of rows) {
    // As old as the sighting, so that the next read still meets an
    // open request that this read came too early for.
    const atMs = missingAtMs ?? work.input.atMs;
    work.requestRead(productId, 'confirm_removal', { atMs, notBeforeMs: HELD_MS });
  }
}

export function countRemoval(work: UnitOfWork, kind: Removable, row: Sighted, read: ReadContext): void {
  assertSighted(row, read);
  const counter = COUNTER[kind];
  const window = removalWindow(work.state, work.input.atMs);
  work.state = { ...work.state, ...window, [counter]: window[counter] + 1 };
}
