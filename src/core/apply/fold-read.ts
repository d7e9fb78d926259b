/** Applies one product/detail answer: levels, totals and descriptions in, the re-read requests and gaps it meets out. */
import { offsetFloorMs, readWindow } from '../merge/clock-bounds.ts';
import type { ProductSnapshot, ReadEntry } from '../entry.ts';
import { foldVariant, renumberCells } from './fold-variant.ts';
import type { Ledger } from './ledger.ts';
import { EARLIEST_MS, REPLICA_LAG_MS } from '../limits.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import type { Obligation, Product } from '../model.ts';
import { foldAbsentProduct, foldAbsentVariants } from './removal.ts';
import { RemovalGuard } from './removal-guard.ts';
import { unreadProduct } from '../merge/unknown.ts';
import { afterRead, isMet } from '../merge/obligation.ts';

export function foldRead(ledger: Ledger, entry: ReadEntry): void {
  const { tables } = ledger;
  if (entry.snapshot !== null && !isOwnStore(ledger, entry.snapshot.storeId)) return;

  const known = tables.product(entry.productId);
  const read = readContext(ledger, entry, known);
  const product = known === undefined ? undefined : answered(known, entry);
  const standing = tables.obligation(entry.productId);
  if (standing !== undefined) {
    if (!read.superseded) settleObligation(ledger, standing, read);
    else postpone(ledger, standing, known?.readAtMs ?? 0);
  }

  const inConflict = standing?.reason === 'conflict' || standing?.reason === 'quarantine';
  if (entry.snapshot !== null) {
    const present = product ?? answered(unreadProduct(entry.productId), entry);
    foldPresent(ledger, { entry, snapshot: entry.snapshot, product: present, inConflict, read });
  } else if (product === undefined) ledger.report({ kind: 'not_found', productId: entry.productId });
  else {
    const guard = new RemovalGuard(ledger, product.productId, null, read);
    foldAbsentProduct(ledger, guard, product, read);
  }
  if (read.superseded && product !== undefined) foldSuperseded(ledger, entry, product);

  settleGaps(ledger, entry.productId, read);
}

/** The first answer names the store; an answer for another store is never merged. */
function isOwnStore(ledger: Ledger, storeId: string): boolean {
  const expected = ledger.state.storeId;
  if (expected === null) ledger.state = { ...ledger.state, storeId };
  if (expected === null || expected === storeId) return true;
  ledger.report({ kind: 'wrong_store', expected, found: storeId });
  return false;
}

function readContext(ledger: Ledger, entry: ReadEntry, product: Product | undefined): ReadContext {
  const window = readWindow(entry, offsetFloorMs(ledger.state), ledger.state.dateContradictions);
  if (window.contradicts) {
    ledger.report({ kind: 'clock_contradiction' });
    ledger.state = { ...ledger.state, offsetFloorMs: null, offsetFloorPreviousMs: null };
  }
  const { ceilingMs, dateContradictions } = window;
  if (ceilingMs !== null) {
    ledger.state = { ...ledger.state, offsetCeilingMs: ceilingMs };
    ledger.setDateContradictions(dateContradictions);
  }
  return {
    s0: entry.s0,
    sentAtMs: entry.sentAtMs,
    loMs: window.loMs,
    hiMs: window.hiMs,
    superseded: product !== undefined && entry.sentAtMs < product.readAtMs,
    overlaps: product !== undefined && entry.sentAtMs < product.readUntilMs + REPLICA_LAG_MS,
  };
}

/** Sent earlier, it may have been sampled later. What it shows is judged row by row; that it shows nothing is a doubt. */
function foldSuperseded(ledger: Ledger, entry: ReadEntry, product: Product): void {
  ledger.tables.putProduct(product);
  const isEarlier = entry.receivedAtMs + REPLICA_LAG_MS <= product.readAtMs;
  if (entry.snapshot !== null || product.goneAtMs !== null || isEarlier) return;
  ledger.oblige(product.productId, 'conflict', { atMs: Math.max(entry.atMs, product.readUntilMs) });
}

/** As long as the answer was on its way it may have been sampled, even if the log has it later. */
function answered(product: Product, { sentAtMs, receivedAtMs }: ReadEntry): Product {
  return { ...product, readUntilMs: Math.max(product.readUntilMs, sentAtMs, receivedAtMs) };
}

function settleObligation(ledger: Ledger, standing: Obligation, read: ReadContext): void {
  const rest = afterRead(standing, read);
  if (rest !== null) {
    ledger.tables.putObligation(rest);
    return;
  }
  ledger.tables.deleteObligation(standing.productId);
  ledger.report({
    kind: 'met',
    productId: standing.productId,
    reason: standing.reason,
    ageMs: ledger.entry.atMs - standing.firstMadeAtMs,
  });
}

/**
 * A superseded answer is not what the mirror shows: what the later one left open is still to be read. Not before a read can
 * count as later: where the host's clock has been set back, that may take a while.
 */
function postpone(ledger: Ledger, standing: Obligation, readAtMs: number): void {
  if (standing.notBeforeMs < readAtMs) ledger.tables.putObligation({ ...standing, notBeforeMs: readAtMs });
}

interface PresentProduct {
  readonly entry: ReadEntry;
  readonly snapshot: ProductSnapshot;
  readonly product: Product;
  readonly inConflict: boolean;
  readonly read: ReadContext;
}

function foldPresent(ledger: Ledger, { entry, snapshot, product, inConflict, read }: PresentProduct): void {
  const { tables } = ledger;
  const renamed = product.name !== snapshot.name;
  const inDowntime = product.readAtMs < ledger.state.trustedAfterMs;
  if (product.goneAtMs !== null || product.detailJson === null) ledger.joinCanary(product.productId, read);
  let differs = renamed || product.missingAtMs !== null || product.goneAtMs !== null;
  const guard = new RemovalGuard(ledger, product.productId, snapshot, read);
  for (const variant of snapshot.variants) {
    const sighting = { variant, product, requestId: entry.requestId, guard, renamed, inDowntime, inConflict };
    differs = foldVariant(ledger, sighting, read) || differs;
  }
  // Of two answers in an unknown order the earlier may be the one that stands now: the next read cannot overlap them.
  if (differs && read.overlaps) {
    ledger.oblige(product.productId, 'conflict', { atMs: Math.max(entry.atMs, product.readUntilMs) });
  }
  const shown = new Set(snapshot.variants.map(({ variantId }) => variantId));
  foldAbsentVariants(ledger, { guard, productId: product.productId, shown, read });
  if (read.superseded) return;
  if (renamed) renumberAbsent(ledger, product.productId, shown);
  tables.putProduct({
    ...product,
    name: snapshot.name,
    parentId: snapshot.parentId,
    updateTimeMs: snapshot.updateTimeMs,
    detailJson: snapshot.detailJson,
    hasBundle: snapshot.variants.some((v) => v.kind === 'bundle'),
    readSeq: read.s0,
    readAtMs: read.sentAtMs,
    missingAtMs: null,
    goneAtMs: null,
  });
}

/** What the answer leaves out, and the mirror keeps, shows the product's new name too. */
function renumberAbsent(ledger: Ledger, productId: string, shown: ReadonlySet<string>): void {
  const { tables } = ledger;
  for (const variant of tables.variantsOf(productId)) {
    if (variant.goneAtMs !== null || shown.has(variant.variantId)) continue;
    renumberCells(ledger, variant.variantId);
    tables.putVariant({ ...variant, changeSeq: ledger.nextChangeSeq() });
  }
}

/** A gap that outlived its grace until a read answered it proves a loss: what else was lost with it is unknown. */
function settleGaps(ledger: Ledger, productId: string, read: ReadContext): void {
  const { tables } = ledger;
  const proved = tables
    .variantsOf(productId)
    .flatMap(({ variantId }) => tables.gapsOf(variantId))
    .filter((gap) => isMet({ madeSeq: gap.openedSeq, madeAtMs: gap.openedAtMs }, read));
  if (proved.length === 0) return;
  let seq = 0;
  let atMs = EARLIEST_MS;
  for (const gap of proved) {
    tables.deleteGap(gap);
    ledger.report({ kind: 'gap_proved', gap, productId });
    seq = Math.max(seq, gap.openedSeq);
    atMs = Math.max(atMs, gap.openedAtMs);
  }
  ledger.state = { ...ledger.state, lossProvedAtMs: ledger.entry.atMs };
  ledger.answerLoss({ seq, atMs });
}
