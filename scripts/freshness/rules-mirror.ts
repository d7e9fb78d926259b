/** A mirror of the real rules: every delivery and answer is an entry, applied by src/core. */
import type { Entry, ProductSnapshot } from '../../src/core/entry.ts';
import type { Fact } from '../../src/core/apply/fact.ts';
import { applyEntry } from '../../src/core/apply/apply-entry.ts';
import type { Answer, Change, Mirror, Proof } from './mirror.ts';
import { BenchTables } from './tables.ts';

const WAREHOUSE = '1';
const FIRST_PRODUCT = 100_000_000;

type Unnumbered<E> = E extends Entry ? Omit<E, 'seq'> : never;

export class RulesMirror implements Mirror {
  seq = 0;
  readonly #tables = new BenchTables();

  /** Every product was read just before `atMs`. */
  constructor(products: number, atMs: number) {
    for (let product = 0; product < products; product++) {
      this.answer({ product, qty: 0, s0: this.seq, sentAtMs: atMs - 60_000, atMs: atMs - 60_000 });
    }
  }

  qty(product: number): number {
    return this.#tables.stockLevel(idOf(product), WAREHOUSE)?.qty ?? Number.NaN;
  }

  deliver(changes: readonly Change[], atMs: number): readonly Proof[] {
    return this.#applyEntry({
      kind: 'delivery',
      atMs,
      requestId: null,
      unreadable: [],
      changes: changes.map((change) => ({
        variantId: idOf(change.product),
        warehouseId: WAREHOUSE,
        sku: null,
        old: change.old,
        new: change.new,
        updateTimeMs: change.atMs,
        reason: null,
        orderId: null,
        userId: null,
      })),
    });
  }

  answer({ product, qty, s0, sentAtMs, atMs }: Answer): readonly Proof[] {
    return this.#applyEntry({
      kind: 'read',
      atMs,
      productId: idOf(product),
      s0,
      sentAtMs,
      receivedAtMs: atMs,
      serverDateMs: Math.floor(sentAtMs / 1_000) * 1_000,
      requestId: null,
      snapshot: snapshotOf(product, qty),
    });
  }

  due(nowMs: number): readonly number[] {
    const due: { readonly id: string; readonly priority: number; readonly atMs: number }[] = [];
    for (const { productId, priority, notBeforeMs, firstMadeAtMs } of this.#tables.readRequests.values()) {
      if (notBeforeMs <= nowMs) due.push({ id: productId, priority, atMs: firstMadeAtMs });
    }
    for (const gaps of this.#tables.gaps.values()) {
      for (const { variantId, dueAtMs } of gaps) {
        if (dueAtMs <= nowMs) due.push({ id: variantId, priority: 2, atMs: dueAtMs });
      }
    }
    due.sort((a, b) => a.priority - b.priority || a.atMs - b.atMs);
    return [...new Set(due.map(({ id }) => Number(id) - FIRST_PRODUCT))];
  }

  #applyEntry(unnumbered: Unnumbered<Entry>): readonly Proof[] {
    this.seq += 1;
    const proofs: Proof[] = [];
    const entry: Entry = { ...unnumbered, seq: this.seq };
    applyEntry(this.#tables, entry, (fact: Fact) => {
      if (fact.kind === 'gap_proved') {
        const product = Number(fact.productId) - FIRST_PRODUCT;
        proofs.push({ product, openedAtMs: fact.gap.openedAtMs, by: 'gap' });
      } else if (fact.kind === 'drift' && fact.warehouseId !== null && fact.cause === 'lost_tail') {
        proofs.push({ product: Number(fact.productId) - FIRST_PRODUCT, openedAtMs: entry.atMs, by: 'read' });
      }
    });
    return proofs;
  }
}

function idOf(product: number): string {
  return String(FIRST_PRODUCT + product);
}

function snapshotOf(product: number, qty: number): ProductSnapshot {
  const variant = {
    variantId: idOf(product),
    name: '',
    sku: null,
    upc: null,
    kind: 'own' as const,
    availableQty: qty,
    onHand: qty,
    reservedQty: 0,
    allowNegativeStock: false,
    priceJson: null,
    cost: null,
    bundledByCount: 0,
    levels: [{ warehouseId: WAREHOUSE, availableQty: qty, onHand: qty, reservedQty: 0 }],
  };
  return {
    storeId: '1',
    name: '',
    parentId: null,
    updateTimeMs: null,
    detailJson: '{}',
    variants: [variant],
  };
}
