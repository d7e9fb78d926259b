/** Writes what is decided about rows that a read does not show (merge/judge-absence.ts). */
import type { ListCompletedInput, ProductSnapshot, VariantSnapshot } from '../input.ts';
import { EARLIEST_MS, REMOVAL_CONFIRM_MS, REMOVAL_RECHECK_MS, REPLICA_LAG_MS } from '../limits.ts';
import { judgeAbsence, type AbsenceVerdict } from '../merge/judge-absence.ts';
import type { AbsentLevel } from '../merge/judge-variant.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import { isHeldRequest } from '../merge/read-request.ts';
import type { Product, StockLevel, Variant } from '../model.ts';
import type { Removable } from './fact.ts';
import { countRemoval, holdIfMany, isAllowed, quantitiesOf, type Sighted } from './held-removals.ts';
import { assertSighted, removeLevel, removeOrSearch } from './remove-rows.ts';
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

/** Marks everything that the answer omits, then decides once, then removes or holds. */
export function writeAbsences(work: UnitOfWork, shown: ShownProduct): void {
  const levels = markLevels(work, shown);
  const variants = markVariants(work, shown);
  const rows = [...levels.map(({ level }) => level), ...variants];
  if (holdIfMany(work, shown.productId, rows)) return;
  removeLevels(work, shown, levels);
  for (const variant of variants) removeWithLevels(work, variant, variant, shown.read);
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

function removeLevels(
  work: UnitOfWork,
  { productId, read }: ShownProduct,
  confirmed: readonly ConfirmedLevel[],
): void {
  for (const { seen, level } of confirmed) {
    assertSighted(level, read);
    countRemoval(work, 1);
    work.report({ kind: 'removed', what: 'level', id: idOf(level) });
    removeLevel(work, level, seen.sku, read);
  }
  // Without levels, a variant is sold by its total, whose row must have a new number.
  const reduced = new Set(confirmed.map(({ level }) => level.variantId));
  for (const variant of work.tables.variantsOf(productId)) {
    if (!reduced.has(variant.variantId)) continue;
    work.tables.putVariant({ ...variant, changeSeq: work.nextChangeSeq() });
  }
}

/** @param sighted the variant, or its product. */
function removeWithLevels(work: UnitOfWork, variant: Variant, sighted: Sighted, read: ReadContext): void {
  assertSighted(sighted, read);
  countRemoval(work, quantitiesOf(work, variant.variantId));
  removeOrSearch(work, variant, read);
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
      tables.putProduct(answered);
      if (!isUnlisted(work, verdict)) {
        requestRemovalCheck(work, productId, { ...verdict, confirmAtMs: read.sentAtMs + REMOVAL_RECHECK_MS });
        return;
      }
      if (holdIfMany(work, productId, [product])) return;
      work.report({ kind: 'removed', what: 'product', id: productId });
      for (const variant of variants) removeWithLevels(work, variant, product, read);
      tables.putProduct({ ...answered, goneAtMs: work.input.atMs });
  }
}

/** A complete list that began after the sighting did not name the product, or an operator decided. */
function isUnlisted(work: UnitOfWork, { missingAtMs }: { readonly missingAtMs: number }): boolean {
  return isListedSince(work.state.listedFromMs, missingAtMs) || isAllowed(work);
}

/** A page that is sent less than a replica's lag after the 404 may be older. */
function isListedSince(listedAtMs: number, missingAtMs: number): boolean {
  return listedAtMs >= missingAtMs + REPLICA_LAG_MS;
}

/** The list shows the product although its last read did not: sightings begin again. */
export function refuteAbsence(work: UnitOfWork, product: Product, listedAtMs: number): void {
  if (product.missingAtMs === null || !isListedSince(listedAtMs, product.missingAtMs)) return;
  work.report({ kind: 'contested', what: 'product', id: product.productId });
  work.tables.putProduct({ ...product, missingAtMs: null });
}

/** Reads the products that the list, which began at `sentAtMs`, did not name: the answers decide. */
export function applyListCompleted(work: UnitOfWork, { sentAtMs }: ListCompletedInput): void {
  work.state = { ...work.state, listedFromMs: Math.max(work.state.listedFromMs, sentAtMs) };
  for (const { productId, missingAtMs } of work.tables.missingProducts()) {
    const standing = work.tables.readRequest(productId);
    const isHeld = standing !== undefined && isHeldRequest(standing);
    if (isHeld || !isListedSince(sentAtMs, missingAtMs)) continue;
    requestRemovalCheck(work, productId, { missingAtMs, confirmAtMs: missingAtMs + REMOVAL_CONFIRM_MS });
  }
}

function idOf({ variantId, warehouseId }: StockLevel): string {
  return `${variantId}/${warehouseId}`;
}
