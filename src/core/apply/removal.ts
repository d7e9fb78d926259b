/** Writes what is decided about rows that a read or a search does not show (merge/judge-absence.ts). */
import type { LookupMissedInput, ProductSnapshot, VariantSnapshot } from '../input.ts';
import { EARLIEST_MS, LATEST_MS, REMOVAL_CONFIRM_MS, REPLICA_LAG_MS } from '../limits.ts';
import { isNamedSince, judgeAbsence, type AbsenceVerdict } from '../merge/judge-absence.ts';
import type { AbsentLevel } from '../merge/judge-variant.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import {
  contradictsItself,
  countLevels,
  countVariants,
  guardCountsTo,
  judgeRemovals,
  removalWindow,
  type AtStake,
} from '../merge/removal-guard.ts';
import type { Product, StockLevel, Variant } from '../model.ts';
import type { Removable } from './fact.ts';
import { assertInvariant } from './invariant.ts';
import { renumberLevels, writeLevel } from './rows.ts';
import type { UnitOfWork } from './unit-of-work.ts';

export interface AbsentLevels {
  readonly seen: VariantSnapshot;
  readonly absent: readonly AbsentLevel[];
}

interface ShownProduct {
  readonly productId: string;
  readonly snapshot: ProductSnapshot;
  readonly absences: readonly AbsentLevels[];
  readonly read: ReadContext;
}

/** Marks everything that the answer omits, then decides once for each kind, then removes or holds. */
export function writeAbsences(work: UnitOfWork, shown: ShownProduct): void {
  const levels = markLevels(work, shown);
  const variants = markVariants(work, shown);
  if (levels.length > 0) removeLevels(work, shown, levels);
  if (variants.length > 0) removeVariants(work, shown, variants);
}

interface ConfirmedLevel {
  readonly seen: VariantSnapshot;
  readonly level: StockLevel;
}

function markLevels(work: UnitOfWork, { productId, absences }: ShownProduct): ConfirmedLevel[] {
  const confirmed: ConfirmedLevel[] = [];
  for (const { seen, absent } of absences) {
    for (const { level: judged, verdict } of absent) {
      // The same answer may have given it a new change number meanwhile.
      const level = work.tables.stockLevel(judged.variantId, judged.warehouseId) ?? judged;
      reportAbsence(work, 'level', idOf(level), verdict);
      switch (verdict.kind) {
        case 'contested':
          work.requestRead(productId, 'conflict');
          break;
        case 'sighted':
          writeLevel(work, level, { ...level, missingAtMs: verdict.missingAtMs });
          requestRemovalCheck(work, productId, verdict);
          break;
        case 'confirmed':
          confirmed.push({ seen, level });
      }
    }
  }
  return confirmed;
}

function markVariants(work: UnitOfWork, { productId, snapshot, read }: ShownProduct): Variant[] {
  const shown = new Set(snapshot.variants.map(({ variantId }) => variantId));
  const confirmed: Variant[] = [];
  for (const variant of work.tables.variantsOf(productId)) {
    if (variant.goneAtMs !== null || shown.has(variant.variantId)) continue;
    const verdict = judgeAbsence(variant, read);
    reportAbsence(work, 'variant', variant.variantId, verdict);
    switch (verdict.kind) {
      case 'contested':
        if (variant.lookupAtMs === null) work.requestRead(productId, 'conflict');
        break;
      case 'sighted':
        work.tables.putVariant({ ...variant, missingAtMs: verdict.missingAtMs });
        requestRemovalCheck(work, productId, verdict);
        break;
      case 'confirmed':
        confirmed.push(variant);
    }
  }
  return confirmed;
}

function reportAbsence(work: UnitOfWork, what: Removable, id: string, { kind }: AbsenceVerdict): void {
  if (kind === 'contested') work.report({ kind: 'contested', what, id });
  if (kind === 'sighted') work.report({ kind: 'missing', what, id });
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

function removeLevels(work: UnitOfWork, shown: ShownProduct, confirmed: readonly ConfirmedLevel[]): void {
  const { productId, snapshot, read } = shown;
  const listed = snapshot.variants
    .filter(({ levels }) => levels !== null)
    .map((seen) => ({ seen, levels: work.tables.stockLevelsOf(seen.variantId) }));
  const isHeld = judgeRemovals(atStake(work, 'level'), countLevels(listed));
  const held = confirmed.filter(({ seen }) => !isAllowed(work) && (isHeld || contradictsItself(seen)));
  hold(
    work,
    'level',
    productId,
    held.map(({ level }) => level),
  );
  const removed = confirmed.filter((row) => !held.includes(row));
  for (const { level } of removed) {
    assertSighted(level, read);
    work.report({ kind: 'removed', what: 'level', id: idOf(level) });
    removeLevel(work, level, read);
    countRemoval(work, 'level');
  }
  // Without levels, a variant is sold by its total, whose row must have a new number.
  for (const variantId of new Set(removed.map(({ level }) => level.variantId))) {
    const variant = work.tables.variant(variantId);
    if (variant !== undefined) work.tables.putVariant({ ...variant, changeSeq: work.nextChangeSeq() });
  }
}

function removeVariants(work: UnitOfWork, shown: ShownProduct, confirmed: readonly Variant[]): void {
  const { productId, snapshot, read } = shown;
  const live = work.tables.variantsOf(productId).filter(({ goneAtMs }) => goneAtMs === null);
  if (judgeRemovals(atStake(work, 'variant'), countVariants(live, snapshot)) && !isAllowed(work)) {
    hold(work, 'variant', productId, confirmed);
    return;
  }
  for (const variant of confirmed) {
    assertSighted(variant, read);
    removeOrSearch(work, variant, read);
    countRemoval(work, 'variant');
  }
}

export function applyAbsentProduct(work: UnitOfWork, product: Product, read: ReadContext): void {
  if (read.superseded) return;
  const { tables } = work;
  const { productId } = product;
  const known: Product = { ...product, readAtMs: read.sentAtMs };
  if (product.goneAtMs !== null) {
    // A read that shows it again may be older than this answer.
    tables.putProduct(known);
    return;
  }
  if (product.detailJson === null) {
    // Only a list has named it: no reader has seen it.
    work.report({ kind: 'not_found', productId });
    tables.putProduct({ ...known, goneAtMs: work.input.atMs });
    return;
  }
  const variants = tables.variantsOf(productId).filter((variant) => variant.goneAtMs === null);
  const eventAtMs = Math.max(EARLIEST_MS, ...variants.map((variant) => variant.eventAtMs));
  const verdict = judgeAbsence({ missingAtMs: product.missingAtMs, eventAtMs }, read);
  reportAbsence(work, 'product', productId, verdict);
  switch (verdict.kind) {
    case 'contested':
      tables.putProduct(known);
      work.requestRead(productId, 'conflict');
      return;
    case 'sighted':
      tables.putProduct({ ...known, missingAtMs: verdict.missingAtMs });
      requestRemovalCheck(work, productId, verdict);
      return;
    case 'confirmed':
      if (judgeRemovals(atStake(work, 'product'), null) && !isAllowed(work)) {
        tables.putProduct(known);
        hold(work, 'product', productId, [product]);
        return;
      }
      assertSighted(product, read);
      work.report({ kind: 'removed', what: 'product', id: productId });
      for (const variant of variants) removeOrSearch(work, variant, read);
      tables.putProduct({ ...known, goneAtMs: work.input.atMs });
      countRemoval(work, 'product');
  }
}

function isAllowed({ input, state }: UnitOfWork): boolean {
  return input.atMs <= state.removalsAllowedUntilMs;
}

/** Variants and levels that go with their product or variant are not counted separately. */
const COUNTER = {
  product: 'removalsInWindow',
  variant: 'variantRemovalsInWindow',
  level: 'levelRemovalsInWindow',
} as const;

/** Call after everything that the read omits was marked missing. */
function atStake({ input, state, tables }: UnitOfWork, kind: Removable): AtStake {
  const removedInWindow = removalWindow(state, input.atMs)[COUNTER[kind]];
  const live = tables.liveCount(kind);
  const missing = tables.missingCount(kind, guardCountsTo({ live, removedInWindow }));
  const shown = kind === 'product' ? tables.shownProductCount(missing + 1) : live;
  return { live, shown, missing, removedInWindow };
}

function hold(
  work: UnitOfWork,
  what: Removable,
  productId: string,
  rows: readonly { readonly missingAtMs: number | null }[],
): void {
  if (rows.length === 0) return;
  work.report({ kind: 'removals_held', what, productId, missing: atStake(work, what).missing });
  for (const { missingAtMs } of rows) {
    // As old as the sighting, so that the next read still meets an open request that this read came too early for.
    const atMs = missingAtMs ?? work.input.atMs;
    work.requestRead(productId, 'confirm_removal', { atMs, notBeforeMs: LATEST_MS });
  }
}

function countRemoval(work: UnitOfWork, kind: Removable): void {
  const counter = COUNTER[kind];
  const window = removalWindow(work.state, work.input.atMs);
  work.state = { ...work.state, ...window, [counter]: window[counter] + 1 };
}

function assertSighted({ missingAtMs }: { readonly missingAtMs: number | null }, read: ReadContext): void {
  assertInvariant(
    missingAtMs !== null && read.sentAtMs - missingAtMs >= REMOVAL_CONFIRM_MS,
    'a removal is preceded by a sighting',
    () => `first missing at ${missingAtMs}, removed by a read sent at ${read.sentAtMs}`,
  );
}

function idOf({ variantId, warehouseId }: StockLevel): string {
  return `${variantId}/${warehouseId}`;
}

function removeOrSearch(work: UnitOfWork, variant: Variant, read: ReadContext): void {
  if (!isNamedSince(variant)) {
    removeVariant(work, variant, read);
    return;
  }
  work.report({ kind: 'unmapped', variantId: variant.variantId });
  renumberLevels(work, variant.variantId);
  work.tables.putVariant({
    ...variant,
    productId: null,
    missingAtMs: null,
    lookupAtMs: work.input.atMs,
    changeSeq: work.nextChangeSeq(),
  });
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

function removeVariant(work: UnitOfWork, variant: Variant, read: ReadContext): void {
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

function removeLevel(work: UnitOfWork, level: StockLevel, read: ReadContext): void {
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
  const isLater = read.loMs > level.readLoMs;
  writeLevel(work, level, {
    ...level,
    changeSeq,
    goneAtMs: work.input.atMs,
    missingAtMs: null,
    readLoMs: isLater ? read.loMs : level.readLoMs,
    readAtMs: isLater ? read.sentAtMs : level.readAtMs,
    readHiMs: Math.max(level.readHiMs, read.hiMs),
  });
}

export function applyLookupMissed(work: UnitOfWork, input: LookupMissedInput): void {
  const read: ReadContext = {
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
        if (variant.goneAtMs === null) {
          assertSighted(variant, read);
          removeVariant(work, variant, read);
          break;
        }
        work.tables.putVariant({ ...variant, missingAtMs: null, lookupAtMs: null });
    }
  }
}
