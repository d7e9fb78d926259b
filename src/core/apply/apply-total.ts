import { BY_A_READ, driftCause, reportDrift } from './drift.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import {
  BUNDLE_DELAY_MAX_MS,
  BUNDLE_DELAY_MIN_MS,
  BUNDLE_DELAY_PER_PRODUCT_MS,
  EARLIEST_MS,
} from '../limits.ts';
import { isConcurrent, type ReadContext } from '../merge/merge-read.ts';
import type { Variant } from '../model.ts';
import { totalHiMs } from './unlisted-levels.ts';
import type { VariantSighting } from './apply-variant.ts';

interface AppliedTotal {
  readonly variant: Variant;
  /** The read confirms a total that was itself certain, so the levels below it are plausible. */
  readonly isTrusted: boolean;
}

interface ReadTotal {
  readonly sighting: VariantSighting;
  readonly variant: Variant;
  readonly explainedQty: number;
  readonly read: ReadContext;
}

export function applyTotal(
  work: UnitOfWork,
  { sighting, variant, explainedQty, read }: ReadTotal,
): AppliedTotal {
  const { variant: seen, product, requestId } = sighting;
  const oldQty = variant.goneAtMs === null ? variant.availableQty : null;
  const newQty = seen.availableQty;
  const concurrent = isConcurrent(variant, read);
  // Changes move a total by differences, so a total that lacks a change may agree by chance; only its levels prove it.
  const agrees = oldQty === newQty && seen.levels !== null && explainedQty === 0;
  if (concurrent && !agrees) {
    // The answer may have been received before the missed delivery arrived.
    const atMs = Math.max(work.input.atMs, variant.eventAtMs);
    work.requestRead(product.productId, 'conflict', { atMs });
  }
  if (read.superseded || (concurrent && oldQty !== null && oldQty !== newQty)) {
    return { variant, isTrusted: true };
  }

  const known: Variant = {
    ...variant,
    availableQty: newQty,
    onHand: seen.onHand,
    reservedQty: seen.reservedQty,
    asOfMs: oldQty === newQty ? variant.asOfMs : read.sentAtMs,
    verifiedAtMs: concurrent && oldQty === null ? variant.verifiedAtMs : read.sentAtMs,
    totalHiMs: Math.max(concurrent ? variant.totalHiMs : EARLIEST_MS, totalHiMs(seen, read)),
    missingAtMs: null,
    goneAtMs: null,
    lookupAtMs: null,
  };
  const explained = newQty - (oldQty ?? 0) === explainedQty && (oldQty !== null || seen.levels !== null);
  if (oldQty !== newQty && !explained) {
    const cause = oldQty === null ? null : driftCause(work, sighting, null);
    work.appendChange({
      variantId: seen.variantId,
      warehouseId: null,
      sku: seen.sku,
      oldQty,
      newQty,
      ...BY_A_READ,
      reason: cause ?? (variant.goneAtMs === null ? 'first_read' : 'restored'),
      requestId,
    });
    if (oldQty !== null && cause !== null)
      reportDrift(work, sighting, { cause, warehouseId: null, oldQty, newQty });
  }
  // A first total, or one from a read that may have been too early, confirms nothing.
  return { variant: known, isTrusted: variant.verifiedAtMs !== null && oldQty === newQty };
}

/** Bundles that contain the variant change with it, without webhooks. */
export function noteComponent(work: UnitOfWork, variant: Variant): void {
  if (variant.bundledByCount === 0 || work.state.bundlesDueAtMs !== null) return;
  const bundles = work.tables.bundleProductCount();
  if (bundles === 0) return;
  const delayMs = Math.min(
    BUNDLE_DELAY_MAX_MS,
    Math.max(BUNDLE_DELAY_MIN_MS, bundles * BUNDLE_DELAY_PER_PRODUCT_MS),
  );
  work.state = { ...work.state, bundlesDueAtMs: work.input.atMs + delayMs };
}
