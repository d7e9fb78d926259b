/** What is compared: the figures of one product, as the mirror holds them and as the store answers them. */
import type { ProductSnapshot } from '../../core/input.ts';

/** A figure of the mirror, with what shows whether it has moved and how far it may be trusted. */
export interface Held {
  readonly qty: number;
  /** Grows with each change of the row. */
  readonly changeSeq: number;
  readonly suspect: boolean;
  readonly asOfMs: number;
  readonly verifiedAtMs: number | null;
  readonly sku: string | null;
  /** The mirror knows that a component has moved, and re-reads the bundle within minutes. */
  readonly isSettling: boolean;
}

/** One product in the mirror at one instant; null: the mirror has none. */
export interface MirrorProduct {
  /** By variant. */
  readonly totals: ReadonlyMap<string, Held>;
  /** By variant and warehouse, as `levelKey` writes them. */
  readonly levels: ReadonlyMap<string, Held>;
}

type What = 'product' | 'total' | 'level';

/** A figure that differs. */
export interface Difference {
  readonly what: What;
  readonly variantId: string | null;
  readonly warehouseId: string | null;
  /** Null: the mirror has no such row, or the difference is a whole product. */
  readonly held: Held | null;
  /** Null: the store has no such figure, or the difference is a whole product. */
  readonly service: number | null;
  /** Where the other side has nothing of the kind. */
  readonly onlyIn: 'mirror' | 'service' | null;
  /** The mirror's side did not move around the store's answer. */
  readonly isStill: boolean;
}

export interface Comparison {
  readonly totals: number;
  readonly levels: number;
  readonly differences: readonly Difference[];
}

export function levelKey(variantId: string, warehouseId: string): string {
  return `${variantId}/${warehouseId}`;
}

/**
 * A figure is equal when the mirror had the store's figure before the request or after the answer.
 *
 * @param before the mirror just before the request.
 * @param after the same just after the answer.
 * @param told the store's answer; null: it has no such product.
 */
export function compare(
  before: MirrorProduct | null,
  told: ProductSnapshot | null,
  after: MirrorProduct | null,
): Comparison {
  if (told === null || after === null) {
    const isStill = (before === null) === (after === null);
    const product = {
      what: 'product',
      variantId: null,
      warehouseId: null,
      held: null,
      service: null,
    } as const;
    const onlyIn = told === null ? 'mirror' : 'service';
    const isOnBoth = (told === null) === (after === null);
    return { totals: 0, levels: 0, differences: isOnBoth ? [] : [{ ...product, onlyIn, isStill }] };
  }
  const differences: Difference[] = [];
  let levels = 0;
  let totals = 0;
  const look = (what: What, variantId: string, warehouseId: string | null, service: number | null): void => {
    const key = warehouseId === null ? variantId : levelKey(variantId, warehouseId);
    const side = what === 'level' ? 'levels' : 'totals';
    const first = before?.[side].get(key) ?? null;
    const held = after[side].get(key) ?? null;
    if (first === null && held === null && service === null) return;
    if (what === 'level') levels += 1;
    else totals += 1;
    if (service === (held?.qty ?? null) || service === (first?.qty ?? null)) return;
    const isStill = first?.changeSeq === held?.changeSeq && held?.isSettling !== true;
    const onlyIn = held === null ? 'service' : service === null ? 'mirror' : null;
    differences.push({ what, variantId, warehouseId, held, service, onlyIn, isStill });
  };

  const toldVariants = new Map(told.variants.map((variant) => [variant.variantId, variant]));
  for (const variantId of new Set([...toldVariants.keys(), ...keysOf(before, after, 'totals')])) {
    look('total', variantId, null, toldVariants.get(variantId)?.availableQty ?? null);
  }
  const heldLevels = keysOf(before, after, 'levels').map((key) => key.split('/') as [string, string]);
  for (const { variantId, levels: toldLevels } of told.variants) {
    // Absent does not mean none; and a product that the mirror lacks is one difference, not one for each warehouse.
    const isHeld = before?.totals.has(variantId) === true || after.totals.has(variantId);
    if (toldLevels === null || !isHeld) continue;
    const byWarehouse = new Map(toldLevels.map((level) => [level.warehouseId, level.availableQty]));
    const ownWarehouses = heldLevels.filter(([id]) => id === variantId).map(([, warehouseId]) => warehouseId);
    for (const warehouseId of new Set([...byWarehouse.keys(), ...ownWarehouses])) {
      look('level', variantId, warehouseId, byWarehouse.get(warehouseId) ?? null);
    }
  }
  return { totals, levels, differences };
}

function keysOf(before: MirrorProduct | null, after: MirrorProduct, side: 'totals' | 'levels'): string[] {
  return [...new Set([...(before?.[side].keys() ?? []), ...after[side].keys()])];
}

/** What an earlier look saw of a figure that differed while the mirror did not move. */
export type Unconfirmed = ReadonlyMap<string, Difference>;

interface Judgement {
  /** Differed twice, and neither side had moved. */
  readonly drift: readonly Difference[];
  /** To be looked at once more. */
  readonly open: readonly Difference[];
  readonly unconfirmed: Unconfirmed;
}

/**
 * A difference counts once two looks, far enough apart for any change on its way, have seen the very same figures.
 */
export function judge(differences: readonly Difference[], earlier: Unconfirmed): Judgement {
  const drift: Difference[] = [];
  const open: Difference[] = [];
  for (const difference of differences) {
    const before = earlier.get(keyOf(difference));
    const isSame =
      before !== undefined &&
      before.service === difference.service &&
      before.onlyIn === difference.onlyIn &&
      before.held?.changeSeq === difference.held?.changeSeq;
    if (isSame && difference.isStill) drift.push(difference);
    else open.push(difference);
  }
  const still = differences.filter(({ isStill }) => isStill);
  return { drift, open, unconfirmed: new Map(still.map((difference) => [keyOf(difference), difference])) };
}

export function keyOf({ what, variantId, warehouseId }: Difference): string {
  return `${what} ${variantId ?? ''}/${warehouseId ?? ''}`;
}
