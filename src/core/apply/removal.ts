/** Writes what is decided about rows that a read does not show (merge/judge-absence.ts). */
import type { ListCompletedInput, ProductSnapshot, VariantSnapshot } from '../input.ts';
import { EARLIEST_MS, REMOVAL_CONFIRM_MS, REMOVAL_RECHECK_MS, REPLICA_LAG_MS } from '../limits.ts';
import { judgeAbsence, type AbsenceVerdict } from '../merge/judge-absence.ts';
import type { AbsentLevel } from '../merge/judge-variant.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import { isHeldRequest } from '../merge/read-request.ts';
import { quantitiesOf } from '../merge/unlisted-levels.ts';
import type { Product, StockLevel, Variant } from '../model.ts';
import type { Removable } from './fact.ts';
import { countRemoval, holdIfMany, type Sighted } from './held-removals.ts';
import { assertSighted, removeLevel, removeOrSearch } from './remove-rows.ts';
import { writeLevel } from './rows.ts';
import type { UnitOfWork } from './unit-of-work.ts';

interface AbsentLevels {
  readonly seen: VariantSnapshot;
  readonly verdict: { readonly absent: readonly AbsentLevel[] };
}

interface ShownProduct {
  readonly product: Product;
  readonly snapshot: ProductSnapshot;
  /** The product's variants before this answer, which changes only those that it lists. */
  readonly kept: readonly Variant[];
  readonly absences: readonly AbsentLevels[];
  readonly read: ReadContext;
}

/**
 * Marks everything that the answer omits, then decides once, then removes or holds.
 * @returns whether some of it is still there.
 */
export function writeAbsences(work: UnitOfWork, shown: ShownProduct): boolean {
  const { product, read } = shown;
  const levels = markLevels(work, shown);
  const variants = markVariants(work, shown);
  const rows = [...levels.confirmed.map(({ level }) => level), ...variants.confirmed];
  if (holdIfMany(work, product, rows)) return true;
  removeLevels(work, shown, levels.confirmed);
  for (const variant of variants.confirmed)
    removeWithLevels(work, variant, { product, sighted: variant, read });
  return levels.isOpen || variants.isOpen;
}

interface Marked<Row> {
  readonly confirmed: readonly Row[];
  /** A further read must confirm the rest. */
  readonly isOpen: boolean;
}

interface ConfirmedLevel {
  readonly seen: VariantSnapshot;
  readonly level: StockLevel;
}

function markLevels(
  work: UnitOfWork,
  { product: { productId }, absences }: ShownProduct,
): Marked<ConfirmedLevel> {
  const confirmed: ConfirmedLevel[] = [];
  let isOpen = false;
  for (const { seen, verdict: shown } of absences) {
    for (const { level: judged, verdict } of shown.absent) {
      // The same answer may already have given it a new change number.
      const level = work.tables.stockLevel(judged.variantId, judged.warehouseId) ?? judged;
      reportAbsence(work, 'level', idOf(level), verdict);
      isOpen ||= verdict.kind !== 'confirmed';
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
  return { confirmed, isOpen };
}

function markVariants(
  work: UnitOfWork,
  { product: { productId }, snapshot, kept, read }: ShownProduct,
): Marked<Variant> {
  const shown = new Set(snapshot.variants.map(({ variantId }) => variantId));
  const confirmed: Variant[] = [];
  let isOpen = false;
  for (const variant of kept) {
    if (variant.goneAtMs !== null || shown.has(variant.variantId)) continue;
    const verdict = judgeAbsence(variant, read);
    reportAbsence(work, 'variant', variant.variantId, verdict);
    isOpen ||= verdict.kind !== 'confirmed';
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
  return { confirmed, isOpen };
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
  { product: { productId, removalAllowedBy: allowedBy }, read }: ShownProduct,
  confirmed: readonly ConfirmedLevel[],
): void {
  for (const { seen, level } of confirmed) {
    assertSighted(level, read);
    countRemoval(work, 1);
    work.report({ kind: 'removed', what: 'level', id: idOf(level), quantities: 1 });
    removeLevel(work, level, seen.sku, { read, allowedBy });
  }
  // Without levels, a variant is sold by its total, whose row must have a new number.
  const reduced = new Set(confirmed.map(({ level }) => level.variantId));
  for (const variant of work.tables.variantsOf(productId)) {
    if (!reduced.has(variant.variantId)) continue;
    work.tables.putVariant({ ...variant, changeSeq: work.nextChangeSeq() });
  }
}

interface Absence {
  readonly product: Product;
  /** The variant, or its product. */
  readonly sighted: Sighted;
  readonly read: ReadContext;
}

function removeWithLevels(work: UnitOfWork, variant: Variant, { product, sighted, read }: Absence): void {
  assertSighted(sighted, read);
  countRemoval(work, quantitiesOf(variant, work.tables.stockLevelsOf(variant.variantId)));
  removeOrSearch(work, variant, { read, allowedBy: product.removalAllowedBy });
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
      if (product.removalAllowedBy === null && !isListedSince(work.state.listedFromMs, verdict.missingAtMs)) {
        requestRemovalCheck(work, productId, { ...verdict, confirmAtMs: read.sentAtMs + REMOVAL_RECHECK_MS });
        return;
      }
      if (holdIfMany(work, product, [product])) return;
      work.report({ kind: 'removed', what: 'product', id: productId, quantities: 0 });
      for (const variant of variants) removeWithLevels(work, variant, { product, sighted: product, read });
      tables.putProduct({ ...answered, goneAtMs: work.input.atMs, removalAllowedBy: null });
  }
}

/** Whether a list or a page is newer than the sighting: one that is sent less than a replica's lag after it may be older. */
function isListedSince(listedAtMs: number, missingAtMs: number): boolean {
  return listedAtMs >= missingAtMs + REPLICA_LAG_MS;
}

/**
 * The list shows the product although its last read did not: sightings begin again. That read has settled
 * nothing, so only one that shows the product makes its rows trusted.
 */
export function refuteAbsence(work: UnitOfWork, product: Product, listedAtMs: number): void {
  if (product.missingAtMs === null || !isListedSince(listedAtMs, product.missingAtMs)) return;
  work.report({ kind: 'contested', what: 'product', id: product.productId });
  work.tables.putProduct({ ...product, missingAtMs: null });
  work.requestRead(product.productId, 'conflict', {
    notBeforeMs: product.missingAtMs + REMOVAL_CONFIRM_MS,
  });
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
