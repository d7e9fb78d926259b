import type {
  Claim,
  Input,
  LevelSnapshot,
  MissedInput,
  ProductSnapshot,
  StockChange,
  VariantSnapshot,
} from '../../src/core/input.ts';
import type { Fact } from '../../src/core/apply/fact.ts';
import { applyInput } from '../../src/core/apply/apply-input.ts';
import { EARLIEST_MS, REPLICA_LAG_MS } from '../../src/core/limits.ts';
import type { ReadContext } from '../../src/core/merge/merge-read.ts';
import type { StockLevel, Change, GapKind, WayIn } from '../../src/core/model.ts';
import type { Reason } from '../../src/core/reasons.ts';
import { MemoryTables } from './memory-tables.ts';

/** A whole second, as in a Date header. */
export const T0 = 1_700_000_000_000;

export const PRODUCT = '10';
export const VARIANT = '100';
export const WAREHOUSE = '1';

export function change(over: Partial<StockChange> & Pick<StockChange, 'old' | 'new'>): StockChange {
  return {
    variantId: VARIANT,
    warehouseId: WAREHOUSE,
    sku: 'S-100',
    updateTimeMs: T0,
    reason: 'order_reserved',
    orderId: null,
    userId: null,
    ...over,
  };
}

/** A stock level whose last change was 4→5 at T0, never read. */
export function stockLevel(over: Partial<StockLevel> = {}): StockLevel {
  return {
    variantId: VARIANT,
    warehouseId: WAREHOUSE,
    qty: 5,
    source: 'webhook',
    asOfMs: T0,
    eventTimeMs: T0,
    eventOld: 4,
    eventCount: 1,
    eventAtMs: T0,
    readLoMs: EARLIEST_MS,
    readHiMs: EARLIEST_MS,
    readAtMs: EARLIEST_MS,
    verifiedAtMs: null,
    onHand: null,
    reservedQty: null,
    onHandAsOfMs: null,
    missingAtMs: null,
    goneAtMs: null,
    changeSeq: 3,
    ...over,
  };
}

/** A read that dominates `stockLevel()`. */
export function readContext(over: Partial<ReadContext> = {}): ReadContext {
  return {
    sentAtMs: T0 + 10_000,
    loMs: T0 + 8_000,
    hiMs: T0 + 12_000,
    superseded: false,
    overlaps: false,
    ...over,
  };
}

export function level(availableQty: number, over: Partial<LevelSnapshot> = {}): LevelSnapshot {
  return { warehouseId: WAREHOUSE, availableQty, onHand: availableQty, reservedQty: 0, ...over };
}

/** @param levels available quantity by warehouse; null if omitted. */
export function variantSnapshot(
  levels: Readonly<Record<string, number>> | null,
  over: Partial<VariantSnapshot> = {},
): VariantSnapshot {
  const entries = levels === null ? [] : Object.entries(levels);
  const total = entries.reduce((sum, [, qty]) => sum + qty, 0);
  return {
    variantId: VARIANT,
    name: '',
    sku: 'S-100',
    upc: null,
    kind: 'own',
    createTimeMs: 0,
    availableQty: total,
    onHand: total,
    reservedQty: 0,
    allowNegativeStock: false,
    priceJson: null,
    cost: null,
    bundledByCount: 0,
    levels: levels === null ? null : entries.map(([warehouseId, qty]) => level(qty, { warehouseId })),
    ...over,
  };
}

export function productSnapshot(
  variants: readonly VariantSnapshot[],
  over: Partial<ProductSnapshot> = {},
): ProductSnapshot {
  return {
    storeId: '1',
    name: 'Tea',
    parentId: null,
    updateTimeMs: null,
    detailJson: '{}',
    variants,
    ...over,
  };
}

export function single(qty: number): ProductSnapshot {
  return productSnapshot([variantSnapshot({ [WAREHOUSE]: qty })]);
}

/** Deliveries about any variant may be missing until `atMs`. */
export function missedAt(atMs: number): MissedInput {
  return {
    kind: 'missed',
    atMs,
    why: 'port_closed',
    sinceMs: null,
    untilMs: atMs,
    variantIds: null,
  };
}

interface ReadTimes {
  readonly sentAtMs: number;
  readonly receivedAtMs?: number;
  readonly serverDateMs?: number | null;
  readonly productId?: string;
  readonly claims?: readonly Claim[];
}

export class Mirror {
  readonly tables = new MemoryTables();
  readonly log: Input[] = [];
  readonly facts: Fact[] = [];

  /** Webhooks have arrived before, unless the test says otherwise. */
  constructor({ wayIn = 'proven' }: Partial<Pick<WayIn, 'wayIn'>> = {}) {
    this.tables.putState({ ...this.tables.state(), wayIn });
  }

  get seq(): number {
    return this.log.length;
  }

  applyInput(input: Input): Fact[] {
    this.log.push(input);
    const before = this.facts.length;
    applyInput(this.tables, input, (fact) => this.facts.push(fact));
    return this.facts.slice(before);
  }

  deliver(atMs: number, ...changes: readonly StockChange[]): Fact[] {
    return this.applyInput({
      kind: 'delivery',
      isTest: false,
      inboxSeq: this.seq + 1,
      atMs,
      requestId: `r${this.seq + 1}`,
      changes,
      unreadable: [],
    });
  }

  /** A delivery with items of which only the variant is understood. */
  failToUnderstand(atMs: number, variantIds: readonly string[]): Fact[] {
    return this.applyInput({
      kind: 'delivery',
      isTest: false,
      inboxSeq: this.seq + 1,
      atMs,
      requestId: `r${this.seq + 1}`,
      changes: [],
      unreadable: variantIds.map((variantId, itemIndex) => ({
        itemIndex,
        problem: 'not understood',
        variantId,
      })),
    });
  }

  requestReads(atMs: number, reason: Reason, productIds: string[], variantIds: string[] = []): Fact[] {
    return this.applyInput({ kind: 'request_reads', atMs, reason, productIds, variantIds });
  }

  /** By default the answer took no time and was dated. */
  read(snapshot: ProductSnapshot | null, times: ReadTimes): Fact[] {
    const { sentAtMs, receivedAtMs = sentAtMs } = times;
    return this.applyInput({
      kind: 'read',
      claims: times.claims ?? [],
      atMs: receivedAtMs,
      productId: times.productId ?? PRODUCT,
      sentAtMs,
      receivedAtMs,
      serverDateMs:
        times.serverDateMs === undefined ? Math.floor(sentAtMs / 1_000) * 1_000 : times.serverDateMs,
      requestId: null,
      snapshot,
    });
  }

  /** A list of the whole catalogue that names these products, and takes no time. */
  list(sentAtMs: number, productIds: readonly string[] = []): Fact[] {
    return [
      ...this.applyInput({ kind: 'listed', atMs: sentAtMs, sentAtMs, productIds, lookup: false }),
      ...this.applyInput({ kind: 'list_completed', atMs: sentAtMs, sentAtMs }),
    ];
  }

  /** Two reads 30 s apart that do not find the product, and a list between them that does not name it. */
  remove(firstMs: number, productId = PRODUCT): void {
    this.read(null, { sentAtMs: firstMs, productId });
    this.list(firstMs + REPLICA_LAG_MS);
    this.read(null, { sentAtMs: firstMs + 30_000, productId });
  }

  qty(variantId = VARIANT, warehouseId = WAREHOUSE): number | null {
    const found = this.tables.stockLevel(variantId, warehouseId);
    return found === undefined || found.goneAtMs !== null ? null : found.qty;
  }

  total(variantId = VARIANT): number | null {
    const found = this.tables.variant(variantId);
    return found === undefined || found.goneAtMs !== null ? null : found.availableQty;
  }

  reason(productId = PRODUCT): string | null {
    return this.tables.readRequest(productId)?.reason ?? null;
  }

  /** Breaks of its levels' chains. */
  gaps(variantId = VARIANT): { fromQty: number; toQty: number }[] {
    return this.#gapsOf(variantId, 'loss');
  }

  /** Values of its levels of which the newer is unknown. */
  orders(variantId = VARIANT): { fromQty: number; toQty: number }[] {
    return this.#gapsOf(variantId, 'order');
  }

  #gapsOf(variantId: string, kind: GapKind): { fromQty: number; toQty: number }[] {
    const gaps = this.tables.gapsOf(variantId).filter((gap) => gap.kind === kind);
    return gaps.map(({ fromQty, toQty }) => ({ fromQty, toQty }));
  }

  rows(variantId = VARIANT, warehouseId: string | null = WAREHOUSE): Change[] {
    return this.tables.changes.filter(
      (row) => row.variantId === variantId && row.warehouseId === warehouseId,
    );
  }
}

/** A mirror whose product was read as `snapshot` at T0, and no read is requested. */
export function mirrorAfterRead(snapshot: ProductSnapshot = single(5)): Mirror {
  const mirror = new Mirror();
  mirror.read(snapshot, { sentAtMs: T0 });
  return mirror;
}

export function kinds(facts: readonly Fact[]): string[] {
  return facts.map((fact) => fact.kind);
}

export function branches(facts: readonly Fact[]): string[] {
  return facts.flatMap((fact) => (fact.kind === 'change' || fact.kind === 'level' ? [fact.branch] : []));
}
