/** Holds mass removals for the operator: they are likelier wrong answers (docs/architecture.md#mass-removal-guard). */
import type { ProductSnapshot, VariantSnapshot } from '../input.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { GUARD_ROWS, GUARD_SHARE, GUARD_WINDOW_MS, LATEST_MS } from '../limits.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import type { MirrorState } from '../model.ts';

type RemovalCount = Pick<
  MirrorState,
  'removalWindowStartMs' | 'removalsInWindow' | 'variantRemovalsInWindow' | 'levelRemovalsInWindow'
>;

export function removalWindow(state: RemovalCount, atMs: number): RemovalCount {
  const ageMs = atMs - state.removalWindowStartMs;
  if (ageMs >= 0 && ageMs < GUARD_WINDOW_MS) return state;
  return {
    removalWindowStartMs: atMs,
    removalsInWindow: 0,
    variantRemovalsInWindow: 0,
    levelRemovalsInWindow: 0,
  };
}

interface AtStake {
  readonly live: number;
  /** Live and shown by some read, not only by a list; counted up to `missing` + 1. */
  readonly shown: number;
  /** Live and sighted missing, including held ones, so that the end of a window releases nothing. */
  readonly missing: number;
  readonly removedInWindow: number;
}

export function guardHolds({ live, shown, missing, removedInWindow }: AtStake): boolean {
  const atStake = missing + removedInWindow;
  const before = live + removedInWindow;
  // In a small store too, wrong credentials are likelier than the loss of everything.
  if (shown + removedInWindow > 1 && missing >= shown) return true;
  return atStake > GUARD_ROWS && atStake > before * GUARD_SHARE;
}

/** Where counting missing rows may stop: beyond this, the guard holds anyway. */
export function guardCountsTo({ live, removedInWindow }: Omit<AtStake, 'missing' | 'shown'>): number {
  return Math.max(GUARD_ROWS, Math.floor((live + removedInWindow) * GUARD_SHARE)) + 1;
}

export function readHolds({
  before,
  missing,
}: {
  readonly before: number;
  readonly missing: number;
}): boolean {
  return missing > GUARD_ROWS && missing * 2 > before;
}

type Kind = 'product' | 'variant' | 'level';

/** Variants and levels that go with their product or variant are not counted separately. */
const COUNTER = {
  product: 'removalsInWindow',
  variant: 'variantRemovalsInWindow',
  level: 'levelRemovalsInWindow',
} as const;

export function countRemoval(work: UnitOfWork, kind: Kind): void {
  const counter = COUNTER[kind];
  const window = removalWindow(work.state, work.input.atMs);
  work.state = { ...work.state, ...window, [counter]: window[counter] + 1 };
}

export class RemovalGuard {
  readonly #work: UnitOfWork;
  readonly #productId: string;
  /** null if the product answered 404. */
  readonly #snapshot: ProductSnapshot | null;
  readonly #read: ReadContext;
  readonly #decided = new Map<Kind, boolean>();

  constructor(work: UnitOfWork, productId: string, snapshot: ProductSnapshot | null, read: ReadContext) {
    this.#work = work;
    this.#productId = productId;
    this.#snapshot = snapshot;
    this.#read = read;
  }

  /** Call after everything that the read omits was marked missing. @returns false if it removes nothing of the kind. */
  allows(kind: Kind, missingAtMs: number | null, answer: 'plain' | 'contradicts itself' = 'plain'): boolean {
    if (this.#work.input.atMs <= this.#work.state.removalsAllowedUntilMs) return true;
    const isOdd = answer !== 'plain';
    let holds = this.#decided.get(kind);
    if (holds !== true && (isOdd || holds === undefined)) {
      const missing = this.#missing(kind);
      holds = isOdd || this.#holdsMany(kind, missing) || this.#holdsRead(kind);
      this.#decided.set(kind, holds);
      if (holds)
        this.#work.report({ kind: 'removals_held', what: kind, productId: this.#productId, missing });
    }
    if (!holds) return true;
    // As old as the sighting, so that the next read still meets an open request that this read came too early for.
    this.#work.requestRead(this.#productId, 'confirm_removal', {
      atMs: missingAtMs ?? this.#read.sentAtMs,
      notBeforeMs: LATEST_MS,
    });
    return false;
  }

  #live(kind: Kind): { readonly live: number; readonly removedInWindow: number } {
    const { input, state, tables } = this.#work;
    return { live: tables.liveCount(kind), removedInWindow: removalWindow(state, input.atMs)[COUNTER[kind]] };
  }

  #missing(kind: Kind): number {
    return this.#work.tables.missingCount(kind, guardCountsTo(this.#live(kind)));
  }

  #holdsMany(kind: Kind, missing: number): boolean {
    const live = this.#live(kind);
    const shown = kind === 'product' ? this.#work.tables.shownProductCount(missing + 1) : live.live;
    return guardHolds({ ...live, shown, missing });
  }

  #holdsRead(kind: Kind): boolean {
    if (this.#snapshot === null || kind === 'product') return false;
    return kind === 'variant' ? this.#holdsVariants(this.#snapshot) : this.#holdsLevels(this.#snapshot);
  }

  /** All of several variants missing: a deleted product would answer 404. */
  #holdsVariants({ variants }: ProductSnapshot): boolean {
    const shown = new Set(variants.map(({ variantId }) => variantId));
    const live = this.#work.tables.variantsOf(this.#productId).filter(({ goneAtMs }) => goneAtMs === null);
    const missing = live.filter(({ variantId }) => !shown.has(variantId)).length;
    const isEmptied = live.length > 1 && missing === live.length;
    return isEmptied || readHolds({ before: live.length, missing });
  }

  /** All levels missing in several warehouses. Closing one warehouse is ordinary, even the only one. */
  #holdsLevels({ variants }: ProductSnapshot): boolean {
    let before = 0;
    let missing = 0;
    const emptied = new Set<string>();
    for (const { variantId, levels } of variants) {
      if (levels === null) continue;
      const shown = new Set(levels.map(({ warehouseId }) => warehouseId));
      for (const level of this.#work.tables.stockLevelsOf(variantId)) {
        if (level.goneAtMs !== null) continue;
        before += 1;
        if (shown.has(level.warehouseId)) continue;
        missing += 1;
        emptied.add(level.warehouseId);
      }
    }
    const isEmptied = missing === before && emptied.size > 1;
    return isEmptied || readHolds({ before, missing });
  }
}

/** Stock without a warehouse: an own product's total is the sum of its warehouses. */
export function contradictsItself({ kind, levels, availableQty }: VariantSnapshot): boolean {
  return kind === 'own' && levels?.length === 0 && availableQty !== 0;
}
