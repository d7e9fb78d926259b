/**
 * Rows that a read does not show (docs/architecture.md#removals): sighted once, confirmed by a second read.
 */
import { EARLIEST_MS, REMOVAL_CONFIRM_MS, REPLICA_LAG_MS } from '../limits.ts';
import type { StockLevel, Variant } from '../model.ts';
import { isConcurrent, type ReadContext } from './merge-read.ts';
import { isTotalOnly } from './unlisted-levels.ts';
import type { VariantSnapshot } from '../input.ts';

export type AbsenceVerdict =
  | { readonly kind: 'contested' }
  | { readonly kind: 'sighted'; readonly missingAtMs: number; readonly confirmAtMs: number }
  | { readonly kind: 'confirmed'; readonly missingAtMs: number };

/**
 * Decides the consequences of an absence. A read that may have missed a delivery proves
 * nothing; the first other one is a sighting, and one sent at least 30 s after
 * it confirms the removal, which the mass-removal guard may still hold.
 */
export function judgeAbsence(
  row: { readonly missingAtMs: number | null; readonly eventAtMs: number },
  read: ReadContext,
): AbsenceVerdict {
  if (isConcurrent(row, read)) return { kind: 'contested' };
  // A clock that was set back must neither shorten the wait nor make it endless.
  const missingAtMs = Math.min(row.missingAtMs ?? read.sentAtMs, read.sentAtMs);
  const confirmAtMs = missingAtMs + REMOVAL_CONFIRM_MS;
  if (read.sentAtMs >= confirmAtMs) return { kind: 'confirmed', missingAtMs };
  return { kind: 'sighted', missingAtMs, confirmAtMs };
}

/**
 * @returns the live levels that the read should have shown. A detail that omits
 * warehouses says nothing about them, unless its kind never has any: then the levels
 * that an earlier detail listed are gone. Levels that only webhooks named stay.
 */
export function absentLevels(levels: readonly StockLevel[], seen: VariantSnapshot): readonly StockLevel[] {
  const live = levels.filter(({ goneAtMs }) => goneAtMs === null);
  if (seen.levels === null) return isTotalOnly(seen) ? live.filter(isListedOnce) : [];
  const shown = new Set(seen.levels.map(({ warehouseId }) => warehouseId));
  return live.filter(({ warehouseId }) => !shown.has(warehouseId));
}

/** A read has listed the level: only such a level can be missing from a detail. */
export function isListedOnce({ onHandAsOfMs }: StockLevel): boolean {
  return onHandAsOfMs !== null;
}

/**
 * A delivery named the variant since a read last showed it, or too shortly before to
 * be seen: it may live in another product, so it is searched for instead of removed.
 */
export function isNamedSince({ eventAtMs, verifiedAtMs }: Variant): boolean {
  return eventAtMs + REPLICA_LAG_MS > (verifiedAtMs ?? EARLIEST_MS);
}
