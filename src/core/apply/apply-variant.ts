import type { VariantSnapshot } from '../input.ts';
import { applyLevel, isShownAgain, renumberLevels } from './apply-level.ts';
import { applyTotal, noteComponent } from './apply-total.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { EARLIEST_MS, REPLICA_LAG_MS } from '../limits.ts';
import { isConcurrent, type ReadContext } from '../merge/merge-read.ts';
import type { Product, Variant } from '../model.ts';
import { judgeLevels } from './removal.ts';
import { restoreLevels } from './tombstone.ts';
import { unmappedVariant } from '../merge/unknown.ts';
import { suspectLevels } from './unlisted-levels.ts';
import type { RemovalGuard } from './removal-guard.ts';

export interface VariantSighting {
  readonly variant: VariantSnapshot;
  readonly product: Product;
  readonly requestId: string | null;
  readonly guard: RemovalGuard;
  /** The product's name changed, which the rows of its variants show. */
  readonly renamed: boolean;
  readonly inDowntime: boolean;
  /** A contradiction was known before the read. */
  readonly inConflict: boolean;
}

/** @returns whether the read changed what only reads may change. */
export function applyVariant(work: UnitOfWork, sighting: VariantSighting, read: ReadContext): boolean {
  const { tables } = work;
  const { variant: seen, product } = sighting;
  const known = tables.variant(seen.variantId);
  const before = known ?? unmappedVariant(seen.variantId, null);
  // A concurrent read neither restores a tombstone nor creates a variant that a later read may have shown to be gone.
  if (isConcurrent(before, read) && (known === undefined || isPerhapsStillGone(known, read))) {
    // It is shown here, so the catalogue need not be searched for it.
    if (known !== undefined && !read.superseded) {
      tables.putVariant({ ...known, productId: product.productId, lookupAtMs: null });
    }
    work.requestRead(product.productId, 'conflict');
    return false;
  }
  if (known !== undefined && !isOwner(work, known, product, read)) return false;
  // The request for what came meanwhile belongs to another product, or was a search that ends here.
  if (before.productId !== product.productId && !read.superseded && isConcurrent(before, read)) {
    const atMs = Math.max(work.input.atMs, before.eventAtMs);
    work.requestRead(product.productId, 'conflict', { atMs });
  }
  const described: Variant = read.superseded ? before : describe(before, seen, product.productId);

  // The total gets a row in the feed only for what its levels do not explain.
  let explainedQty = 0;
  let differs = false;
  for (const level of seen.levels ?? []) {
    const applied = applyLevel(work, sighting, level, read);
    explainedQty += applied.explainedQty;
    differs ||= applied.differs;
  }
  const hasLostLevel =
    seen.levels !== null &&
    judgeLevels(work, { guard: sighting.guard, productId: product.productId, seen, read });

  const { variant: totalled, isTrusted } = applyTotal(work, {
    sighting,
    variant: described,
    explainedQty,
    read,
  });
  if (seen.levels === null) {
    const isBack = before.goneAtMs !== null && totalled.goneAtMs === null;
    if (isBack) restoreLevels(work, sighting, before.goneAtMs);
    if (!isTrusted) suspectLevels(work, seen.variantId);
  }
  const redescribed = sighting.renamed || isRedescribed(before, totalled);
  if (redescribed) renumberLevels(work, seen.variantId);
  // One that is new here has not changed since its bundles were read: a webhook would have named it.
  const { availableQty, bundledByCount } = known ?? totalled;
  if (availableQty !== totalled.availableQty || bundledByCount !== totalled.bundledByCount)
    noteComponent(work, totalled);
  // Without levels, the variant is sold by its total, whose row must have a new number.
  const changed = redescribed || isRevalued(before, totalled) || explainedQty !== 0 || hasLostLevel;
  tables.putVariant(changed ? { ...totalled, changeSeq: work.nextChangeSeq() } : totalled);
  return differs || isShownOtherwise(before, totalled);
}

/** The answer may come from a replica that is behind the removal, whatever deliveries came since. */
function isPerhapsStillGone({ goneAtMs }: Variant, read: ReadContext): boolean {
  return goneAtMs !== null && (read.superseded || read.sentAtMs < goneAtMs + REPLICA_LAG_MS);
}

/** Two products may show a variant: the later sent answer decides. @returns false if the variant is the other's. */
function isOwner(work: UnitOfWork, variant: Variant, product: Product, read: ReadContext): boolean {
  const { productId } = product;
  if (variant.productId === null || variant.productId === productId || read.superseded) return true;
  const other = work.tables.product(variant.productId);
  const isShownThere = variant.goneAtMs === null && variant.missingAtMs === null;
  const isLater = !isShownThere || other === undefined || read.sentAtMs >= other.readAtMs;
  // The order of overlapping answers is unknown: the variant's rows are suspect until both products are read.
  const overlaps =
    isShownThere &&
    other !== undefined &&
    read.sentAtMs < other.readUntilMs + REPLICA_LAG_MS &&
    other.readAtMs < work.input.atMs + REPLICA_LAG_MS;
  if (overlaps) for (const id of [productId, variant.productId]) work.requestRead(id, 'conflict');
  if (isLater) {
    work.report({
      kind: 'moved',
      variantId: variant.variantId,
      fromProductId: variant.productId,
      toProductId: productId,
    });
  }
  return isLater;
}

function describe(variant: Variant, seen: VariantSnapshot, productId: string): Variant {
  return {
    ...variant,
    productId,
    name: seen.name,
    sku: seen.sku,
    upc: seen.upc,
    kind: seen.kind,
    allowNegativeStock: seen.allowNegativeStock,
    priceJson: seen.priceJson,
    cost: seen.cost,
    bundledByCount: seen.bundledByCount,
    missingAtMs: null,
    lookupAtMs: null,
  };
}

/** Whether the rows of its warehouses show something else, or are shown instead of its total or no longer are. */
function isRedescribed(before: Variant, after: Variant): boolean {
  return (
    before.productId !== after.productId ||
    before.name !== after.name ||
    before.sku !== after.sku ||
    before.allowNegativeStock !== after.allowNegativeStock ||
    before.kind !== after.kind ||
    isTotalOnly(before) !== isTotalOnly(after)
  );
}

function isTotalOnly({ totalHiMs }: Variant): boolean {
  return totalHiMs > EARLIEST_MS;
}

/** Ignores on-hand and reserved quantities, which no webhook carries and which have their own instant. */
function isShownOtherwise(before: Variant, after: Variant): boolean {
  const { onHand, reservedQty } = after;
  const isRestated = isRedescribed(before, after) || isRevalued({ ...before, onHand, reservedQty }, after);
  return isRestated || isShownAgain(before, after);
}

function isRevalued(before: Variant, after: Variant): boolean {
  return (
    before.availableQty !== after.availableQty ||
    before.onHand !== after.onHand ||
    before.reservedQty !== after.reservedQty ||
    before.upc !== after.upc ||
    before.kind !== after.kind ||
    before.allowNegativeStock !== after.allowNegativeStock ||
    before.priceJson !== after.priceJson ||
    before.cost !== after.cost ||
    before.goneAtMs !== after.goneAtMs
  );
}
