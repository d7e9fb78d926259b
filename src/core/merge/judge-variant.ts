import type { VariantSnapshot } from '../input.ts';
import { EARLIEST_MS, REPLICA_LAG_MS } from '../limits.ts';
import type { Product, StockLevel, Variant } from '../model.ts';
import { absentLevels, isListedOnce, judgeAbsence, type AbsenceVerdict } from './judge-absence.ts';
import { judgeTotal, type TotalVerdict } from './judge-total.ts';
import { isConcurrent, judgeLevel, type LevelVerdict, type ReadContext } from './merge-read.ts';
import { unmappedVariant } from './unknown.ts';
import { isReadWithoutLevels, isTotalOnly } from './unlisted-levels.ts';

/** The mirror before the answer. */
export interface VariantRows {
  readonly variant: Variant | undefined;
  /** Live and removed ones. */
  readonly levels: readonly StockLevel[];
  readonly product: Product;
  /** The product to which the variant belongs so far, if it is another one. */
  readonly owner: Product | undefined;
  readonly atMs: number;
  readonly lastDeliveryAtMs: number | null;
}

export type VariantVerdict =
  /**
   * The answer may be older than the variant's removal, or than a read that shows it elsewhere or nowhere.
   */
  | { readonly kind: 'unproven'; readonly variant: Variant | null }
  /** Another product's later answer shows it. */
  | { readonly kind: 'elsewhere'; readonly overlapping: readonly string[] }
  | ShownVariant;

export interface AbsentLevel {
  readonly level: StockLevel;
  readonly verdict: AbsenceVerdict;
}

export interface ShownVariant {
  readonly kind: 'shown';
  readonly before: Variant | undefined;
  /** Without its change number. */
  readonly after: Variant;
  readonly movedFrom: string | null;
  /** Products to be read, because the order of their answers is unknown. */
  readonly overlapping: readonly string[];
  readonly levels: readonly LevelVerdict[];
  readonly absent: readonly AbsentLevel[];
  /**
   * Levels that return with the variant though no read shows
   * them: as tombstones they would reject every change.
   */
  readonly restored: readonly StockLevel[];
  readonly total: TotalVerdict;
  readonly doubt: 'conflict' | 'derived' | null;
  /** Every row of the variant shows something else, such as a new name. */
  readonly isRedescribed: boolean;
  readonly isChanged: boolean;
  /** The read changed properties that only reads may change. */
  readonly differs: boolean;
  /** Bundles that contain the variant have changed with it, or may have. */
  readonly movesBundles: boolean;
  readonly newBundle: NewBundle | null;
}

/** A bundle that no earlier answer showed as one, so that no change of a component could make it due. */
export interface NewBundle {
  /** Own clock: it was made then or before. */
  readonly madeAtMs: number;
  /** The answer may lack a change of a component. */
  readonly isOvertaken: boolean;
}

/**
 * Decides what an answer says about one variant: whether it is this product's, its description, each
 * of its levels (`judgeLevel`), the levels that the answer omits, and its total (`judgeTotal`).
 */
export function judgeVariant(rows: VariantRows, seen: VariantSnapshot, read: ReadContext): VariantVerdict {
  const { variant, product, levels } = rows;
  const base = variant ?? unmappedVariant(seen.variantId, null);
  const concurrent = isConcurrent(base, read);
  // A concurrent read neither restores a tombstone nor creates a
  // variant that a later read may have shown to be gone.
  if (concurrent && (variant === undefined || isPerhapsStillGone(variant, read))) {
    const mapped: Variant = { ...base, productId: product.productId, lookupAtMs: null };
    return { kind: 'unproven', variant: read.superseded ? null : mapped };
  }
  const ownership = judgeOwner(base, rows, read);
  if (!ownership.isOwn) return { kind: 'elsewhere', overlapping: ownership.overlapping };

  const described = read.superseded ? base : describe(base, seen, product.productId);
  const byWarehouse = new Map(levels.map((level) => [level.warehouseId, level]));
  const shown = (seen.levels ?? []).map((level) =>
    judgeLevel(byWarehouse.get(level.warehouseId), seen.variantId, level, read),
  );
  const explainedQty = shown.reduce((sum, level) => sum + explained(level), 0);
  const beforeQty = shown.reduce((sum, { before }) => sum + liveQty(before), 0);
  const total = judgeTotal(described, seen, { explainedQty, beforeQty }, read);
  const after = total.variant;
  const isRedescribed = isShownDifferently(base, after);
  const isNewToProduct = base.productId !== product.productId && !read.superseded && concurrent;
  const movesLevel = shown.some(({ overwritten }) => overwritten !== null && overwritten.oldQty !== null);
  const isDoubted = total.isDoubted || isNewToProduct || shown.some(({ doubt }) => doubt !== null);
  return {
    kind: 'shown',
    before: variant,
    after,
    movedFrom: ownership.movedFrom,
    overlapping: ownership.overlapping,
    levels: shown,
    absent: absentLevels(levels, seen).map((level) => ({ level, verdict: judgeAbsence(level, read) })),
    restored: seen.levels === null ? levels.filter((level) => returnsWith(level, base, after)) : [],
    total,
    // A request made in the meantime belongs to another product, or was a search that ends here.
    doubt:
      isNewToProduct || shown.some(({ doubt }) => doubt === 'conflict')
        ? 'conflict'
        : total.isDoubted
          ? 'derived'
          : null,
    isRedescribed,
    isChanged: isRedescribed || !isSame(base, after, SHOWN_VALUES),
    // On-hand and reserved quantities, which no webhook carries, have their own instant.
    differs:
      shown.some(differsFromRead) ||
      isRedescribed ||
      !isSame(base, after, ['missingAtMs', ...VALUES_OF_READS]),
    movesBundles: movesLevel || isDoubted || movesTotal(rows, after),
    newBundle:
      after.kind === 'bundle' && variant?.kind !== 'bundle' ? judgeNewBundle(rows, seen, read) : null,
  };
}

function movesTotal({ variant, product }: VariantRows, after: Variant): boolean {
  // In the first read of a product, every variant is new and its bundles are likely read later.
  if (variant === undefined) return product.readAtMs > EARLIEST_MS;
  // Its bundles may have been read while it was gone.
  const returns = product.missingAtMs !== null || variant.missingAtMs !== null || variant.goneAtMs !== null;
  return returns || !isSame(variant, after, ['availableQty', 'bundledByCount']);
}

function judgeNewBundle(
  { variant, atMs, lastDeliveryAtMs }: VariantRows,
  { createTimeMs }: VariantSnapshot,
  { sentAtMs, loMs }: ReadContext,
): NewBundle {
  // Until now it may have been something else.
  const isMadeNow = createTimeMs === null || (variant !== undefined && variant.productId !== null);
  return {
    madeAtMs: isMadeNow ? atMs : atMs - Math.max(0, loMs - createTimeMs),
    isOvertaken: sentAtMs < (lastDeliveryAtMs ?? EARLIEST_MS) + REPLICA_LAG_MS,
  };
}

interface Ownership {
  readonly isOwn: boolean;
  readonly movedFrom: string | null;
  readonly overlapping: readonly string[];
}

/** Two products may show a variant: the later sent answer decides. */
function judgeOwner(
  { goneAtMs, missingAtMs }: Variant,
  { product, owner, atMs }: VariantRows,
  read: ReadContext,
): Ownership {
  if (owner === undefined || read.superseded) {
    return { isOwn: true, movedFrom: null, overlapping: [] };
  }
  const isShownThere = goneAtMs === null && missingAtMs === null;
  // The answer may be older than the one that no longer shows the variant at its owner.
  const isUnproven = goneAtMs === null && missingAtMs !== null && read.sentAtMs < missingAtMs;
  const isLater = isShownThere ? read.sentAtMs >= owner.readAtMs : !isUnproven;
  const isOverlapping =
    isUnproven ||
    (isShownThere &&
      read.sentAtMs < owner.readUntilMs + REPLICA_LAG_MS &&
      owner.readAtMs < atMs + REPLICA_LAG_MS);
  return {
    isOwn: isLater,
    movedFrom: isLater ? owner.productId : null,
    overlapping: isOverlapping ? [product.productId, owner.productId] : [],
  };
}

/** The answer may come from a replica that is behind the removal, whatever deliveries came since. */
function isPerhapsStillGone({ goneAtMs }: Variant, read: ReadContext): boolean {
  return goneAtMs !== null && (read.superseded || read.sentAtMs < goneAtMs + REPLICA_LAG_MS);
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

/** Besides those of `isShownDifferently`. */
const VALUES_OF_READS = ['availableQty', 'upc', 'priceJson', 'cost', 'goneAtMs'] as const;

const SHOWN_VALUES = [...VALUES_OF_READS, 'onHand', 'reservedQty'] as const;

/**
 * Whether the rows of its warehouses show something else, or
 * are shown instead of its total or no longer are.
 */
function isShownDifferently(before: Variant, after: Variant): boolean {
  return (
    !isSame(before, after, ['productId', 'name', 'sku', 'allowNegativeStock', 'kind']) ||
    isReadWithoutLevels(before) !== isReadWithoutLevels(after)
  );
}

function isSame(before: Variant, after: Variant, keys: readonly (keyof Variant)[]): boolean {
  return keys.every((key) => before[key] === after[key]);
}

/** The read set the level's quantity, or ended its pending removal. */
function differsFromRead({ before, level, overwritten }: LevelVerdict): boolean {
  return overwritten !== null || before?.missingAtMs !== level?.missingAtMs;
}

/** How far the read moves the sum of the variant's live levels. */
function explained({ before, level }: LevelVerdict): number {
  return liveQty(level) - liveQty(before);
}

function liveQty(level: StockLevel | null | undefined): number {
  return level?.goneAtMs === null ? level.qty : 0;
}

/** Removed with the variant, not before it, and not by a change of its kind. */
function returnsWith(level: StockLevel, before: Variant, after: Variant): boolean {
  if (level.goneAtMs === null || before.goneAtMs === null || level.goneAtMs < before.goneAtMs) return false;
  return !isTotalOnly(after) || !isListedOnce(level);
}
