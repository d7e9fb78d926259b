/** Writes what is decided about the answer of a read (docs/architecture.md#reads). */
import type { ProductSnapshot, ReadInput, VariantSnapshot } from '../input.ts';
import { OVERTAKEN_PAUSE_MAX_MS, REPLICA_LAG_MS } from '../limits.ts';
import { offsetFloorMs, readWindow, stampedUntilMs } from '../merge/clock-bounds.ts';
import type { ShownVariant } from '../merge/judge-variant.ts';
import { isConcurrent, type ReadContext } from '../merge/merge-read.ts';
import { afterRead, conflictReadsAfter, isMet } from '../merge/read-request.ts';
import { unreadProduct } from '../merge/unknown.ts';
import type { Product, ReadRequest, Variant } from '../model.ts';
import { applyVariant, type Answer } from './apply-variant.ts';
import { assertInvariant } from './invariant.ts';
import { applyAbsentProduct, writeAbsences } from './removal.ts';
import { renumberLevels } from './rows.ts';
import type { UnitOfWork } from './unit-of-work.ts';

export function applyRead(work: UnitOfWork, input: ReadInput): void {
  const { tables } = work;
  if (input.snapshot !== null && !isOwnStore(work, input.snapshot.storeId)) return;

  const before = tables.product(input.productId);
  const read = readContext(work, input, before);
  const standing = tables.readRequest(input.productId);
  // Also a 404 for an unknown product is kept: a read that overlaps it may show the product as it was before.
  const product = answered(before ?? unreadProduct(input.productId), input, standing);
  // The requests below count their pauses from this answer.
  tables.putProduct(product);
  if (standing !== undefined) {
    if (read.superseded) postpone(work, standing, product.readAtMs);
    else settleReadRequest(work, standing, read);
  }

  const kept = tables.variantsOf(input.productId);
  const inConflict =
    standing !== undefined && (standing.reason === 'conflict' || standing.reason === 'dead_letter');
  if (input.snapshot !== null) {
    const values = input.snapshot.variants.reduce((sum, { levels }) => sum + 1 + (levels?.length ?? 0), 0);
    work.report({ kind: 'compared', productId: input.productId, values, lastReadAtMs: product.readAtMs });
    applyPresent(work, { input, snapshot: input.snapshot, product, kept, inConflict, read });
  } else if (read.superseded) {
    applySupersededAbsence(work, input, product);
  } else {
    applyAbsentProduct(work, product, read);
  }
  const shown = input.snapshot?.variants ?? [];
  settleGaps(work, input.productId, new Set([...kept, ...shown].map(({ variantId }) => variantId)), read);
}

function isOwnStore(work: UnitOfWork, storeId: string): boolean {
  const expected = work.state.storeId;
  if (expected === null) work.state = { ...work.state, storeId };
  if (expected === null || expected === storeId) return true;
  work.report({ kind: 'wrong_store', expected, found: storeId });
  return false;
}

function readContext(work: UnitOfWork, input: ReadInput, product: Product | undefined): ReadContext {
  const window = readWindow(input, offsetFloorMs(work.state), work.state.dateContradictions);
  if (window.contradicts) {
    work.report({ kind: 'clock_contradiction' });
    work.state = {
      ...work.state,
      offsetFloorMs: null,
      offsetFloorPreviousMs: null,
      stampedUntilMs: stampedUntilMs(input, work.state),
    };
  }
  work.state = { ...work.state, offsetCeilingMs: window.ceilingMs ?? work.state.offsetCeilingMs };
  work.setDateContradictions(window.dateContradictions);
  return {
    sentAtMs: input.sentAtMs,
    loMs: window.loMs,
    hiMs: window.hiMs,
    superseded: product !== undefined && input.sentAtMs < product.readAtMs,
    overlaps: product !== undefined && input.sentAtMs < product.readUntilMs + REPLICA_LAG_MS,
  };
}

/** A 404 to a read sent earlier may be newer than the product that the mirror shows. */
function applySupersededAbsence(work: UnitOfWork, input: ReadInput, product: Product): void {
  const isEarlier = input.receivedAtMs + REPLICA_LAG_MS <= product.readAtMs;
  if (product.goneAtMs === null && !isEarlier) requestSettlingRead(work, product);
}

/** The order of two answers is unknown: the next read must be sent a replica's lag after both. */
function requestSettlingRead(work: UnitOfWork, { productId, readUntilMs }: Product): void {
  work.requestRead(productId, 'conflict', { atMs: readUntilMs });
}

/** The answer may have been sampled at any time until its receipt. */
function answered(product: Product, input: ReadInput, standing: ReadRequest | undefined): Product {
  const { sentAtMs, receivedAtMs } = input;
  return {
    ...product,
    readUntilMs: Math.max(product.readUntilMs, sentAtMs, receivedAtMs),
    conflictReads: conflictReadsAfter(product, standing, input),
  };
}

function settleReadRequest(work: UnitOfWork, standing: ReadRequest, read: ReadContext): void {
  const rest = afterRead(standing, read);
  if (rest !== null) {
    const endsAtMs = work.pauseEndsAtMs(rest.productId, rest.reason);
    const pausedUntilMs = Math.min(endsAtMs, work.input.atMs + OVERTAKEN_PAUSE_MAX_MS);
    work.tables.putReadRequest({ ...rest, notBeforeMs: Math.max(rest.notBeforeMs, pausedUntilMs) });
    return;
  }
  work.tables.deleteReadRequest(standing.productId);
  work.report({
    kind: 'met',
    productId: standing.productId,
    reason: standing.reason,
    ageMs: work.input.atMs - standing.firstMadeAtMs,
  });
}

/** The next read must be sent after the latest one, even if the host's clock was set back. */
function postpone(work: UnitOfWork, standing: ReadRequest, readAtMs: number): void {
  work.tables.putReadRequest({ ...standing, notBeforeMs: Math.max(standing.notBeforeMs, readAtMs) });
}

interface PresentProduct {
  readonly input: ReadInput;
  readonly snapshot: ProductSnapshot;
  readonly product: Product;
  /** Its variants before this answer. */
  readonly kept: readonly Variant[];
  readonly inConflict: boolean;
  readonly read: ReadContext;
}

function applyPresent(
  work: UnitOfWork,
  { input, snapshot, product, kept, inConflict, read }: PresentProduct,
): void {
  const { tables } = work;
  const { productId } = product;
  const renamed = product.name !== snapshot.name;
  const answer: Answer = {
    product,
    requestId: input.requestId,
    renamed,
    inDowntime: product.readAtMs < work.state.trustedAfterMs,
    inConflict,
    claims: input.claims,
    read,
  };
  const verdicts = snapshot.variants.map((seen) => ({ seen, verdict: applyVariant(work, answer, seen) }));
  const shown = verdicts.flatMap(({ seen, verdict }) =>
    verdict.kind === 'shown' ? [{ seen, verdict }] : [],
  );
  // A removed product is missing too, or has no name yet if only a list has named it.
  const isShownAgain = product.missingAtMs !== null;
  // The merged one of two overlapping answers may be the older.
  if (read.overlaps && (renamed || isShownAgain || shown.some(({ verdict }) => verdict.differs))) {
    requestSettlingRead(work, product);
  }
  const isOpen = writeAbsences(work, { product, snapshot, kept, absences: shown, read });
  for (const { seen, verdict } of shown) assertSum(seen, verdict, read);
  if (read.superseded) return;
  if (renamed) {
    renumberAbsent(work, productId, new Set(snapshot.variants.map(({ variantId }) => variantId)));
  }
  tables.putProduct({
    ...product,
    name: snapshot.name,
    parentId: snapshot.parentId,
    updateTimeMs: snapshot.updateTimeMs,
    detailJson: snapshot.detailJson,
    hasBundle: snapshot.variants.some((v) => v.kind === 'bundle'),
    readAtMs: read.sentAtMs,
    missingAtMs: null,
    goneAtMs: null,
    // Once it is carried out, the guard judges the next absence again.
    removalAllowedBy: isOpen ? product.removalAllowedBy : null,
  });
}

/** Holds after a read that missed no delivery, if it holds in its answer. */
function assertSum(seen: VariantSnapshot, { after, levels }: ShownVariant, read: ReadContext): void {
  if (seen.levels === null || isConcurrent(after, read)) return;
  const listedQty = seen.levels.reduce((sum, { availableQty }) => sum + availableQty, 0);
  if (listedQty !== seen.availableQty) return;
  const sumQty = levels.reduce((sum, { level }) => sum + (level?.qty ?? 0), 0);
  assertInvariant(
    sumQty === after.availableQty,
    'a total is the sum of its levels',
    () => `${seen.variantId}: ${after.availableQty} instead of ${sumQty}`,
  );
}

/** Variants missing from the answer but kept in the mirror show the product's new name too. */
function renumberAbsent(work: UnitOfWork, productId: string, shown: ReadonlySet<string>): void {
  const { tables } = work;
  for (const variant of tables.variantsOf(productId)) {
    if (variant.goneAtMs !== null || shown.has(variant.variantId)) continue;
    renumberLevels(work, variant.variantId);
    tables.putVariant({ ...variant, changeSeq: work.nextChangeSeq() });
  }
}

/** A broken chain that is still open when a read answers it proves a loss. */
function settleGaps(
  work: UnitOfWork,
  productId: string,
  variantIds: ReadonlySet<string>,
  read: ReadContext,
): void {
  const { tables } = work;
  for (const variantId of variantIds) {
    // An answer may also list a variant of another product.
    if (tables.variant(variantId)?.productId !== productId) continue;
    for (const gap of tables.gapsOf(variantId)) {
      if (!isMet({ madeAtMs: gap.openedAtMs }, read)) continue;
      tables.deleteGap(gap);
      if (gap.kind === 'loss') work.report({ kind: 'gap_proved', gap, productId });
    }
  }
}
