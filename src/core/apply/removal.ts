/** Absent rows (docs/architecture.md#removals): sighted once, confirmed by a second read, then removed or held. */
import type { LookupMissedInput, VariantSnapshot } from '../input.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { EARLIEST_MS, REMOVAL_CONFIRM_MS, REPLICA_LAG_MS } from '../limits.ts';
import { isConcurrent, type ReadContext } from '../merge/merge-read.ts';
import type { StockLevel, Product, Variant } from '../model.ts';
import { renumberLevels } from './apply-level.ts';
import { contradictsItself, countRemoval, type RemovalGuard } from './removal-guard.ts';

export type AbsenceVerdict =
  | { readonly kind: 'contested' }
  | { readonly kind: 'sighted'; readonly missingAtMs: number; readonly confirmAtMs: number }
  | { readonly kind: 'confirmed' };

/** Two dominant reads, far enough apart, must agree on the absence. */
export function judgeAbsence(
  thing: { readonly missingAtMs: number | null; readonly eventAtMs: number },
  read: ReadContext,
): AbsenceVerdict {
  if (isConcurrent(thing, read)) return { kind: 'contested' };
  const missingAtMs = thing.missingAtMs ?? read.sentAtMs;
  // A clock that was set back must neither shorten the wait nor make it endless.
  if (read.sentAtMs < missingAtMs) {
    return {
      kind: 'sighted',
      missingAtMs: read.sentAtMs,
      confirmAtMs: read.sentAtMs + REMOVAL_CONFIRM_MS,
    };
  }
  const confirmAtMs = missingAtMs + REMOVAL_CONFIRM_MS;
  if (read.sentAtMs >= confirmAtMs) return { kind: 'confirmed' };
  return { kind: 'sighted', missingAtMs, confirmAtMs };
}

/** Dated at the first sighting: a repeated request must not postpone other requests for the product. */
function requestRemovalCheck(
  work: UnitOfWork,
  productId: string,
  sighted: { readonly missingAtMs: number; readonly confirmAtMs: number },
): void {
  work.requestRead(productId, 'confirm_removal', {
    atMs: sighted.missingAtMs,
    notBeforeMs: Math.min(sighted.confirmAtMs, work.input.atMs + REMOVAL_CONFIRM_MS),
  });
}

interface SeenLevels {
  readonly guard: RemovalGuard;
  readonly productId: string;
  readonly seen: VariantSnapshot;
  readonly read: ReadContext;
}

/** @returns whether a level was removed. */
export function judgeLevels(work: UnitOfWork, { guard, productId, seen, read }: SeenLevels): boolean {
  const { tables } = work;
  const shown = new Set(seen.levels?.map((level) => level.warehouseId));
  const confirmed: StockLevel[] = [];
  for (const level of tables.stockLevelsOf(seen.variantId)) {
    if (shown.has(level.warehouseId) || level.goneAtMs !== null) continue;
    const verdict = judgeAbsence(level, read);
    const id = `${level.variantId}/${level.warehouseId}`;
    switch (verdict.kind) {
      case 'contested':
        work.report({ kind: 'contested', what: 'level', id });
        work.requestRead(productId, 'conflict');
        break;
      case 'sighted':
        work.report({ kind: 'missing', what: 'level', id });
        tables.putStockLevel({ ...level, missingAtMs: verdict.missingAtMs });
        requestRemovalCheck(work, productId, verdict);
        break;
      case 'confirmed':
        confirmed.push(level);
        break;
    }
  }
  let hasRemoved = false;
  for (const level of confirmed) {
    if (!guard.allows('level', level.missingAtMs, contradictsItself(seen) ? 'contradicts itself' : 'plain'))
      continue;
    work.report({ kind: 'removed', what: 'level', id: `${level.variantId}/${level.warehouseId}` });
    removeLevel(work, level, read);
    countRemoval(work, 'level');
    hasRemoved = true;
  }
  return hasRemoved;
}

interface ShownVariants {
  readonly guard: RemovalGuard;
  readonly productId: string;
  readonly shown: ReadonlySet<string>;
  readonly read: ReadContext;
}

export function applyAbsentVariants(
  work: UnitOfWork,
  { guard, productId, shown, read }: ShownVariants,
): void {
  const { tables } = work;
  const confirmed: Variant[] = [];
  for (const variant of tables.variantsOf(productId)) {
    if (variant.goneAtMs !== null || shown.has(variant.variantId)) continue;
    const verdict = judgeAbsence(variant, read);
    switch (verdict.kind) {
      case 'contested':
        work.report({ kind: 'contested', what: 'variant', id: variant.variantId });
        if (variant.lookupAtMs === null) work.requestRead(productId, 'conflict');
        break;
      case 'sighted':
        work.report({ kind: 'missing', what: 'variant', id: variant.variantId });
        tables.putVariant({ ...variant, missingAtMs: verdict.missingAtMs });
        requestRemovalCheck(work, productId, verdict);
        break;
      case 'confirmed':
        confirmed.push(variant);
        break;
    }
  }
  for (const variant of confirmed) {
    if (!guard.allows('variant', variant.missingAtMs)) continue;
    if (!searchNamed(work, variant, variant.missingAtMs)) removeVariant(work, variant, read);
    countRemoval(work, 'variant');
  }
}

export function applyAbsentProduct(
  work: UnitOfWork,
  guard: RemovalGuard,
  product: Product,
  read: ReadContext,
): void {
  if (read.superseded) return;
  const { tables } = work;
  const known: Product = { ...product, readAtMs: read.sentAtMs };
  if (product.goneAtMs !== null) {
    // A read that shows it again may be older than this answer.
    tables.putProduct(known);
    return;
  }
  if (product.detailJson === null) {
    // Only a list has named it: no reader has seen it.
    work.report({ kind: 'not_found', productId: product.productId });
    tables.putProduct({ ...known, goneAtMs: work.input.atMs });
    return;
  }
  const variants = tables.variantsOf(product.productId).filter((variant) => variant.goneAtMs === null);
  const verdict = judgeAbsence({ missingAtMs: product.missingAtMs, eventAtMs: lastTouchMs(variants) }, read);
  switch (verdict.kind) {
    case 'contested':
      work.report({ kind: 'contested', what: 'product', id: product.productId });
      tables.putProduct(known);
      work.requestRead(product.productId, 'conflict');
      return;
    case 'sighted':
      work.report({ kind: 'missing', what: 'product', id: product.productId });
      tables.putProduct({ ...known, missingAtMs: verdict.missingAtMs });
      requestRemovalCheck(work, product.productId, verdict);
      return;
    case 'confirmed':
      if (!guard.allows('product', known.missingAtMs)) {
        tables.putProduct(known);
        return;
      }
      work.report({ kind: 'removed', what: 'product', id: product.productId });
      for (const variant of variants)
        if (!searchNamed(work, variant, known.missingAtMs)) removeVariant(work, variant, read);
      tables.putProduct({ ...known, goneAtMs: work.input.atMs });
      countRemoval(work, 'product');
      return;
  }
}

/** A variant that a delivery named after the first sighting lives elsewhere: the catalogue is searched for it. */
function searchNamed(work: UnitOfWork, variant: Variant, missingAtMs: number | null): boolean {
  if (missingAtMs === null || variant.eventAtMs < missingAtMs) return false;
  work.report({ kind: 'unmapped', variantId: variant.variantId });
  renumberLevels(work, variant.variantId);
  work.tables.putVariant({
    ...variant,
    productId: null,
    missingAtMs: null,
    lookupAtMs: work.input.atMs,
    changeSeq: work.nextChangeSeq(),
  });
  return true;
}

function removeVariant(work: UnitOfWork, variant: Variant, read: Pick<ReadContext, 'loMs' | 'hiMs'>): void {
  const { tables } = work;
  work.report({ kind: 'removed', what: 'variant', id: variant.variantId });
  for (const level of tables.stockLevelsOf(variant.variantId)) {
    if (level.goneAtMs === null) removeLevel(work, level, read);
  }
  const tombstone: Variant = {
    ...variant,
    missingAtMs: null,
    lookupAtMs: null,
    goneAtMs: work.input.atMs,
  };
  if (variant.availableQty === null) {
    tables.putVariant(tombstone);
    return;
  }
  const changeSeq = work.appendChange({
    ...REMOVED,
    variantId: variant.variantId,
    warehouseId: null,
    sku: variant.sku,
    oldQty: variant.availableQty,
  });
  tables.putVariant({ ...tombstone, changeSeq });
}

const REMOVED = {
  newQty: null,
  source: 'read',
  reason: 'removed',
  orderId: null,
  userId: null,
  updateTimeMs: null,
  requestId: null,
} as const;

function removeLevel(work: UnitOfWork, level: StockLevel, read: Pick<ReadContext, 'loMs' | 'hiMs'>): void {
  const { tables } = work;
  for (const gap of tables.gapsOf(level.variantId)) {
    if (gap.warehouseId === level.warehouseId) tables.deleteGap(gap);
  }
  const changeSeq = work.appendChange({
    ...REMOVED,
    variantId: level.variantId,
    warehouseId: level.warehouseId,
    sku: tables.variant(level.variantId)?.sku ?? null,
    oldQty: level.qty,
  });
  tables.putStockLevel({
    ...level,
    changeSeq,
    goneAtMs: work.input.atMs,
    missingAtMs: null,
    readLoMs: Math.max(level.readLoMs, read.loMs),
    readHiMs: Math.max(level.readHiMs, read.hiMs),
  });
}

function lastTouchMs(variants: readonly Variant[]): number {
  return Math.max(EARLIEST_MS, ...variants.map(({ eventAtMs }) => eventAtMs));
}

export function applyLookupMissed(work: UnitOfWork, input: LookupMissedInput): void {
  const read = {
    sentAtMs: input.sentAtMs,
    loMs: EARLIEST_MS,
    // A search has no window.
    hiMs: EARLIEST_MS,
    superseded: false,
    overlaps: false,
  };
  for (const variantId of input.variantIds) {
    const variant = work.tables.variant(variantId);
    if (variant === undefined || variant.lookupAtMs === null) continue;
    const verdict = judgeAbsence(variant, read);
    switch (verdict.kind) {
      case 'contested':
        work.tables.putVariant({ ...variant, missingAtMs: null, lookupAtMs: input.atMs + REPLICA_LAG_MS });
        break;
      case 'sighted':
        work.tables.putVariant({
          ...variant,
          missingAtMs: verdict.missingAtMs,
          lookupAtMs: verdict.confirmAtMs,
        });
        break;
      case 'confirmed':
        // Already removed; a later change named it, and no product has it.
        if (variant.goneAtMs === null) removeVariant(work, variant, read);
        else work.tables.putVariant({ ...variant, missingAtMs: null, lookupAtMs: null });
        break;
    }
  }
}
