/** Which of the removals that a read confirms may happen, and what becomes of the others: they wait for the operator. */
import type { ProductSnapshot, VariantSnapshot } from './entry.ts';
import type { Ledger } from './ledger.ts';
import { LATEST_MS } from './limits.ts';
import type { ReadContext } from './merge-read.ts';
import { brakeCountsTo, brakeHolds, readHolds, removalWindow } from './removal-brake.ts';
import { isToldByWebhooksAlone } from './webhooks-alone.ts';

type Kind = 'product' | 'variant' | 'cell';

/** How the removals of each kind are counted. What goes with its product or its variant counts as that alone. */
const COUNTER = {
  product: 'removalsInWindow',
  variant: 'variantRemovalsInWindow',
  cell: 'cellRemovalsInWindow',
} as const;

export function countRemoval(ledger: Ledger, kind: Kind): void {
  const counter = COUNTER[kind];
  const window = removalWindow(ledger.state, ledger.entry.atMs);
  ledger.state = { ...ledger.state, ...window, [counter]: window[counter] + 1 };
}

export function areRemovalsAllowed({ entry, state }: Ledger): boolean {
  return entry.atMs <= state.removalsAllowedUntilMs;
}

/** For one read. What it decides of a kind holds for all that the read removes of it. */
export class RemovalGuard {
  readonly #ledger: Ledger;
  readonly #productId: string;
  /** Null: the product answered 404. */
  readonly #snapshot: ProductSnapshot | null;
  readonly #read: ReadContext;
  readonly #decided = new Map<Kind, boolean>();

  constructor(ledger: Ledger, productId: string, snapshot: ProductSnapshot | null, read: ReadContext) {
    this.#ledger = ledger;
    this.#productId = productId;
    this.#snapshot = snapshot;
    this.#read = read;
  }

  /**
   * To be asked when the removal is confirmed, after everything that the read leaves out was marked as missing.
   *
   * @param missingAtMs the first sighting.
   * @param isDoubtful the answer itself speaks against the removal.
   * @returns false: nothing of the kind is removed by this read.
   */
  allows(kind: Kind, missingAtMs: number | null, isDoubtful = false): boolean {
    if (areRemovalsAllowed(this.#ledger)) return true;
    let holds = this.#decided.get(kind);
    if (holds !== true && (isDoubtful || holds === undefined)) {
      const missing = this.#missing(kind);
      holds = isDoubtful || this.#holdsMany(kind, missing) || this.#holdsRead(kind);
      this.#decided.set(kind, holds);
      if (holds) this.#ledger.report({ kind: 'brake', what: kind, productId: this.#productId, missing });
    }
    if (!holds) return true;
    // As old as the sighting: a standing doubt that this read came too early for must be met by the next one.
    this.#ledger.oblige(this.#productId, 'confirm_removal', {
      seq: this.#read.s0,
      atMs: missingAtMs ?? this.#read.sentAtMs,
      notBeforeMs: LATEST_MS,
    });
    return false;
  }

  #live(kind: Kind): { readonly live: number; readonly removedInWindow: number } {
    const { entry, state, tables } = this.#ledger;
    return { live: tables.liveCount(kind), removedInWindow: removalWindow(state, entry.atMs)[COUNTER[kind]] };
  }

  #missing(kind: Kind): number {
    return this.#ledger.tables.missingCount(kind, brakeCountsTo(this.#live(kind)));
  }

  #holdsMany(kind: Kind, missing: number): boolean {
    return brakeHolds({ ...this.#live(kind), missing });
  }

  #holdsRead(kind: Kind): boolean {
    if (this.#snapshot === null || kind === 'product') return false;
    return kind === 'variant' ? this.#holdsVariants(this.#snapshot) : this.#holdsCells(this.#snapshot);
  }

  /** Several variants, and the answer shows none: that is a deleted product, which answers 404. */
  #holdsVariants({ variants }: ProductSnapshot): boolean {
    const shown = new Set(variants.map(({ variantId }) => variantId));
    const live = this.#ledger.tables.variantsOf(this.#productId).filter(({ goneAtMs }) => goneAtMs === null);
    const missing = live.filter(({ variantId }) => !shown.has(variantId)).length;
    const isEmptied = live.length > 1 && missing === live.length;
    return isEmptied || readHolds({ before: live.length, missing });
  }

  /** Levels in several warehouses, and the answer shows none. To close one warehouse is ordinary, even the only one. */
  #holdsCells({ variants }: ProductSnapshot): boolean {
    let before = 0;
    let missing = 0;
    const emptied = new Set<string>();
    for (const { variantId, levels } of variants) {
      if (levels === null) continue;
      const shown = new Set(levels.map(({ warehouseId }) => warehouseId));
      for (const cell of this.#ledger.tables.cellsOf(variantId)) {
        if (cell.goneAtMs !== null || isToldByWebhooksAlone(cell)) continue;
        before += 1;
        if (shown.has(cell.warehouseId)) continue;
        missing += 1;
        emptied.add(cell.warehouseId);
      }
    }
    const isEmptied = missing === before && emptied.size > 1;
    return isEmptied || readHolds({ before, missing });
  }
}

/** Stock, and no warehouse that holds it: an own product's total is the sum of its warehouses. */
export function contradictsItself({ kind, levels, availableQty }: VariantSnapshot): boolean {
  return kind === 'own' && levels?.length === 0 && availableQty !== 0;
}
