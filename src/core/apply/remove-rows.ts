/** Turns rows into tombstones, and gives up variants that no search has found. */
import type { LookupMissedInput } from '../input.ts';
import { EARLIEST_MS, REMOVAL_CONFIRM_MS, REPLICA_LAG_MS } from '../limits.ts';
import { isNamedSince, judgeAbsence } from '../merge/judge-absence.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import { quantitiesOf } from '../merge/unlisted-levels.ts';
import type { StockLevel, Variant } from '../model.ts';
import type { Sighted } from './held-removals.ts';
import { assertInvariant } from './invariant.ts';
import { renumberLevels, writeLevel } from './rows.ts';
import type { UnitOfWork } from './unit-of-work.ts';

export function assertSighted({ missingAtMs }: Sighted, read: Pick<ReadContext, 'sentAtMs'>): void {
  assertInvariant(
    missingAtMs !== null && read.sentAtMs - missingAtMs >= REMOVAL_CONFIRM_MS,
    'a removal is preceded by a sighting',
    () => `first missing at ${missingAtMs}, removed by a read sent at ${read.sentAtMs}`,
  );
}

interface Removal {
  readonly read: ReadContext;
  /** The operator who decided the removal; null if reads alone did. */
  readonly allowedBy: string | null;
}

export function removeOrSearch(work: UnitOfWork, variant: Variant, removal: Removal): void {
  if (!isNamedSince(variant)) {
    removeVariant(work, variant, removal);
    return;
  }
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
  updateTimeMs: null,
  requestId: null,
} as const;

function removeVariant(work: UnitOfWork, variant: Variant, removal: Removal): void {
  const { tables } = work;
  const { variantId } = variant;
  const levels = tables.stockLevelsOf(variantId);
  work.report({
    kind: 'removed',
    what: 'variant',
    id: variantId,
    quantities: quantitiesOf(variant, levels),
  });
  for (const level of levels) {
    if (level.goneAtMs === null) removeLevel(work, level, variant.sku, removal);
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
    variantId,
    warehouseId: null,
    sku: variant.sku,
    oldQty: variant.availableQty,
    userId: removal.allowedBy,
  });
  tables.putVariant({ ...tombstone, changeSeq });
}

export function removeLevel(
  work: UnitOfWork,
  level: StockLevel,
  sku: string | null,
  { read, allowedBy }: Removal,
): void {
  const { tables } = work;
  for (const gap of tables.gapsOf(level.variantId)) {
    if (gap.warehouseId === level.warehouseId) tables.deleteGap(gap);
  }
  const changeSeq = work.appendChange({
    ...REMOVED,
    variantId: level.variantId,
    warehouseId: level.warehouseId,
    sku,
    oldQty: level.qty,
    userId: allowedBy,
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

/**
 * Two sweeps of the store that show a variant nowhere remove it. A sweep is a list of the whole catalogue and a
 * read of every product; one that began before the variant was last named proves nothing.
 */
export function applyLookupMissed(work: UnitOfWork, input: LookupMissedInput): void {
  const sweep: ReadContext = {
    sentAtMs: input.sentAtMs,
    loMs: EARLIEST_MS,
    // A sweep has no window.
    hiMs: EARLIEST_MS,
    superseded: false,
    overlaps: false,
  };
  for (const variantId of input.variantIds) {
    const variant = work.tables.variant(variantId);
    if (variant === undefined || variant.lookupAtMs === null || variant.lookupAtMs > sweep.sentAtMs) continue;
    const verdict = judgeAbsence(variant, sweep);
    switch (verdict.kind) {
      case 'contested':
        work.tables.putVariant({ ...variant, lookupAtMs: variant.eventAtMs + REPLICA_LAG_MS });
        break;
      case 'sighted':
        work.tables.putVariant({
          ...variant,
          missingAtMs: verdict.missingAtMs,
          lookupAtMs: Math.max(input.atMs, verdict.confirmAtMs),
        });
        break;
      case 'confirmed':
        // A removed variant that a later change named, and no product has.
        if (variant.goneAtMs !== null) {
          work.tables.putVariant({ ...variant, missingAtMs: null, lookupAtMs: null });
          break;
        }
        assertSighted(variant, sweep);
        removeVariant(work, variant, { read: sweep, allowedBy: null });
    }
  }
}
