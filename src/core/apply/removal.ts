/** Writes what is decided about rows that a read does not show (merge/judge-absence.ts). */
import type { ProductSnapshot, VariantSnapshot } from '../input.ts';
import { EARLIEST_MS } from '../limits.ts';
import { judgeAbsence, type AbsenceVerdict } from '../merge/judge-absence.ts';
import type { AbsentLevel } from '../merge/judge-variant.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import { contradictsItself, countLevels, countVariants, judgeRemovals } from '../merge/removal-guard.ts';
import type { Product, StockLevel, Variant } from '../model.ts';
import type { Removable } from './fact.ts';
import { atStake, countRemoval, hold, isAllowed } from './held-removals.ts';
import { removeLevel, removeOrSearch } from './remove-rows.ts';
import { writeLevel } from './rows.ts';
import type { UnitOfWork } from './unit-of-work.ts';

interface AbsentLevels {
  readonly seen: VariantSnapshot;
  readonly verdict: { readonly absent: readonly AbsentLevel[] };
}

interface ShownProduct {
  readonly productId: string;
  readonly snapshot: ProductSnapshot;
  /** The product's variants before this answer, which changes only those that it lists. */
  readonly kept: readonly Variant[];
  readonly absences: readonly AbsentLevels[];
  readonly read: ReadContext;
}

/** Marks everything that the answer omits, then decides once for each kind, then removes or holds. */
export function writeAbsences(work: UnitOfWork, shown: ShownProduct): void {
  const levels = markLevels(work, shown);
  const variants = markVariants(work, shown);
  removeLevels(work, shown, levels);
  removeVariants(work, shown, variants);
}

interface ConfirmedLevel {
  readonly seen: VariantSnapshot;
  readonly level: StockLevel;
}

function markLevels(work: UnitOfWork, { productId, absences }: ShownProduct): ConfirmedLevel[] {
  const confirmed: ConfirmedLevel[] = [];
  for (const { seen, verdict: shown } of absences) {
    for (const { level: judged, verdict } of shown.absent) {
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

function markVariants(work: UnitOfWork, { productId, snapshot, kept, read }: ShownProduct): Variant[] {
  const shown = new Set(snapshot.variants.map(({ variantId }) => variantId));
  const confirmed: Variant[] = [];
  for (const variant of kept) {
    if (variant.goneAtMs !== null || shown.has(variant.variantId)) continue;
    const verdict = judgeAbsence(variant, read);
    reportAbsence(work, 'variant', variant.variantId, verdict);
    switch (verdict.kind) {
      case 'contested':
        work.requestRead(productId, 'conflict');
        break;
      case 'sighted':
        work.tables.putVariant({ ...variant, missingAtMs: verdict.missingAtMs });
        requestRemovalCheck(work, productId, verdict);
        work.noteComponent(variant);
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
    notBeforeMs: sighted.confirmAtMs,
  });
}

function removeLevels(work: UnitOfWork, shown: ShownProduct, confirmed: readonly ConfirmedLevel[]): void {
  if (confirmed.length === 0) return;
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
  for (const { seen, level } of removed) {
    countRemoval(work, 'level', level, read);
    work.report({ kind: 'removed', what: 'level', id: idOf(level) });
    removeLevel(work, level, seen.sku, read);
  }
  // Without levels, a variant is sold by its total, whose row must have a new number.
  const reduced = new Set(removed.map(({ level }) => level.variantId));
  for (const variant of work.tables.variantsOf(productId)) {
    if (!reduced.has(variant.variantId)) continue;
    work.tables.putVariant({ ...variant, changeSeq: work.nextChangeSeq() });
  }
}

function removeVariants(work: UnitOfWork, shown: ShownProduct, confirmed: readonly Variant[]): void {
  if (confirmed.length === 0) return;
  const { productId, snapshot, read } = shown;
  const live = work.tables.variantsOf(productId).filter(({ goneAtMs }) => goneAtMs === null);
  if (judgeRemovals(atStake(work, 'variant'), countVariants(live, snapshot)) && !isAllowed(work)) {
    hold(work, 'variant', productId, confirmed);
    return;
  }
  for (const variant of confirmed) {
    countRemoval(work, 'variant', variant, read);
    removeOrSearch(work, variant, read);
  }
}

export function applyAbsentProduct(work: UnitOfWork, product: Product, read: ReadContext): void {
  const { tables } = work;
  const { productId } = product;
  const answered: Product = { ...product, readAtMs: read.sentAtMs };
  if (product.goneAtMs !== null) {
    // A read that shows it again may be older than this answer.
    tables.putProduct(answered);
    return;
  }
  if (product.detailJson === null) {
    // No reader has seen it: at most a list has named it.
    work.report({ kind: 'not_found', productId });
    tables.putProduct({ ...answered, goneAtMs: work.input.atMs });
    return;
  }
  const variants = tables.variantsOf(productId).filter((variant) => variant.goneAtMs === null);
  const eventAtMs = Math.max(EARLIEST_MS, ...variants.map((variant) => variant.eventAtMs));
  const verdict = judgeAbsence({ missingAtMs: product.missingAtMs, eventAtMs }, read);
  reportAbsence(work, 'product', productId, verdict);
  switch (verdict.kind) {
    case 'contested':
      tables.putProduct(answered);
      work.requestRead(productId, 'conflict');
      return;
    case 'sighted':
      tables.putProduct({ ...answered, missingAtMs: verdict.missingAtMs });
      requestRemovalCheck(work, productId, verdict);
      for (const variant of variants) work.noteComponent(variant);
      return;
    case 'confirmed':
      if (judgeRemovals(atStake(work, 'product'), null) && !isAllowed(work)) {
        tables.putProduct(answered);
        hold(work, 'product', productId, [product]);
        return;
      }
      countRemoval(work, 'product', product, read);
      work.report({ kind: 'removed', what: 'product', id: productId });
      for (const variant of variants) removeOrSearch(work, variant, read);
      tables.putProduct({ ...answered, goneAtMs: work.input.atMs });
  }
}

function idOf({ variantId, warehouseId }: StockLevel): string {
  return `${variantId}/${warehouseId}`;
}
