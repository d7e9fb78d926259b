import { offsetFloorMs, readWindow } from '../merge/clock-bounds.ts';
import type { ProductSnapshot, ReadInput } from '../input.ts';
import { renumberLevels } from './apply-level.ts';
import { applyVariant } from './apply-variant.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { OVERTAKEN_PAUSE_MAX_MS, REPLICA_LAG_MS } from '../limits.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import type { ReadRequest, Product } from '../model.ts';
import { applyAbsentProduct, applyAbsentVariants } from './removal.ts';
import { RemovalGuard } from './removal-guard.ts';
import { unreadProduct } from '../merge/unknown.ts';
import { afterRead, conflictReadsAfter, isMet } from '../merge/read-request.ts';

export function applyRead(work: UnitOfWork, input: ReadInput): void {
  const { tables } = work;
  if (input.snapshot !== null && !isOwnStore(work, input.snapshot.storeId)) return;

  const known = tables.product(input.productId);
  const read = readContext(work, input, known);
  const standing = tables.readRequest(input.productId);
  const product = known === undefined ? undefined : answered(known, input, standing);
  if (product !== undefined && product.conflictReads !== known?.conflictReads) tables.putProduct(product);
  if (standing !== undefined) {
    if (!read.superseded) settleReadRequest(work, standing, read);
    else postpone(work, standing, known?.readAtMs ?? 0);
  }

  const inConflict = standing?.reason === 'conflict' || standing?.reason === 'dead_letter';
  if (input.snapshot !== null) {
    const present = product ?? answered(unreadProduct(input.productId), input, standing);
    applyPresent(work, { input, snapshot: input.snapshot, product: present, inConflict, read });
  } else if (product === undefined) work.report({ kind: 'not_found', productId: input.productId });
  else {
    const guard = new RemovalGuard(work, product.productId, null, read);
    applyAbsentProduct(work, guard, product, read);
  }
  if (read.superseded && product !== undefined) applySuperseded(work, input, product);

  settleGaps(work, input.productId, read);
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
    work.state = { ...work.state, offsetFloorMs: null, offsetFloorPreviousMs: null };
  }
  const { ceilingMs, dateContradictions } = window;
  if (ceilingMs !== null) {
    work.state = { ...work.state, offsetCeilingMs: ceilingMs };
    work.setDateContradictions(dateContradictions);
  }
  return {
    sentAtMs: input.sentAtMs,
    loMs: window.loMs,
    hiMs: window.hiMs,
    superseded: product !== undefined && input.sentAtMs < product.readAtMs,
    overlaps: product !== undefined && input.sentAtMs < product.readUntilMs + REPLICA_LAG_MS,
  };
}

/** A read sent earlier may have been sampled later. Its rows are judged one by one; a 404 requests another read. */
function applySuperseded(work: UnitOfWork, input: ReadInput, product: Product): void {
  work.tables.putProduct(product);
  const isEarlier = input.receivedAtMs + REPLICA_LAG_MS <= product.readAtMs;
  if (input.snapshot !== null || product.goneAtMs !== null || isEarlier) return;
  work.requestRead(product.productId, 'conflict', { atMs: Math.max(input.atMs, product.readUntilMs) });
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
    const { productId, reason, notBeforeMs } = rest;
    const pauseEndsAtMs = reason === 'conflict' ? (work.conflictPauseEndsAtMs(productId) ?? 0) : 0;
    const pausedUntilMs = Math.min(pauseEndsAtMs, work.input.atMs + OVERTAKEN_PAUSE_MAX_MS);
    work.tables.putReadRequest({ ...rest, notBeforeMs: Math.max(notBeforeMs, pausedUntilMs) });
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
  if (standing.notBeforeMs < readAtMs) work.tables.putReadRequest({ ...standing, notBeforeMs: readAtMs });
}

interface PresentProduct {
  readonly input: ReadInput;
  readonly snapshot: ProductSnapshot;
  readonly product: Product;
  readonly inConflict: boolean;
  readonly read: ReadContext;
}

function applyPresent(
  work: UnitOfWork,
  { input, snapshot, product, inConflict, read }: PresentProduct,
): void {
  const { tables } = work;
  const renamed = product.name !== snapshot.name;
  const inDowntime = product.readAtMs < work.state.trustedAfterMs;
  let differs = renamed || product.missingAtMs !== null || product.goneAtMs !== null;
  const guard = new RemovalGuard(work, product.productId, snapshot, read);
  for (const variant of snapshot.variants) {
    const sighting = { variant, product, requestId: input.requestId, guard, renamed, inDowntime, inConflict };
    differs = applyVariant(work, sighting, read) || differs;
  }
  // The order of two overlapping answers is unknown, and the merged one may be the older: read again without overlap.
  if (differs && read.overlaps) {
    work.requestRead(product.productId, 'conflict', { atMs: Math.max(input.atMs, product.readUntilMs) });
  }
  const shown = new Set(snapshot.variants.map(({ variantId }) => variantId));
  applyAbsentVariants(work, { guard, productId: product.productId, shown, read });
  if (read.superseded) return;
  if (renamed) renumberAbsent(work, product.productId, shown);
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
  });
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

/** A gap still open when a read answers it proves a loss. */
function settleGaps(work: UnitOfWork, productId: string, read: ReadContext): void {
  const { tables } = work;
  for (const { variantId } of tables.variantsOf(productId)) {
    for (const gap of tables.gapsOf(variantId)) {
      if (!isMet({ madeAtMs: gap.openedAtMs }, read)) continue;
      tables.deleteGap(gap);
      work.report({ kind: 'gap_proved', gap, productId });
    }
  }
}
