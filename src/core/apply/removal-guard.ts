/**
 * Which of the removals that a read confirms may happen, and what becomes of the others: they wait for the operator
 * (docs/architecture.md#mass-removal-guard). A store does not lose a large part of its catalogue at once; a mistake of the
 * store's does.
 */
import type { ProductSnapshot, VariantSnapshot } from '../input.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { GUARD_ROWS, GUARD_SHARE, GUARD_WINDOW_MS, LATEST_MS } from '../limits.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import type { MirrorState } from '../model.ts';

type RemovalCount = Pick<
  MirrorState,
  'removalWindowStartMs' | 'removalsInWindow' | 'variantRemovalsInWindow' | 'levelRemovalsInWindow'
>;

/** Removals of the present window, a new window when the last one has passed. */
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

/** Products, variants, or levels: each kind is counted by itself. */
interface AtStake {
  readonly live: number;
  /** Live, and shown by some read, counted no further than past those missing: what a list alone has named is nothing yet. */
  readonly shown: number;
  /** Live, and sighted missing; what is held stays among them, so that the end of a window releases nothing. */
  readonly missing: number;
  readonly removedInWindow: number;
}

/** Would removing what is missing, after what was just removed, take more than the catalogue can plausibly lose? */
export function guardHolds({ live, shown, missing, removedInWindow }: AtStake): boolean {
  const atStake = missing + removedInWindow;
  const before = live + removedInWindow;
  // A small store too: that all of it is gone is said more often by wrong credentials than by the store.
  if (shown + removedInWindow > 1 && missing >= shown) return true;
  return atStake > GUARD_ROWS && atStake > before * GUARD_SHARE;
}

/** More that are missing make no difference, so nobody has to count them. */
export function guardCountsTo({ live, removedInWindow }: Omit<AtStake, 'missing' | 'shown'>): number {
  return Math.max(GUARD_ROWS, Math.floor((live + removedInWindow) * GUARD_SHARE)) + 1;
}

/** Does one read leave out more of a product than anybody takes away at once: most of many? */
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

/** How the removals of each kind are counted. What goes with its product or its variant counts as that alone. */
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

export function areRemovalsAllowed({ input, state }: UnitOfWork): boolean {
  return input.atMs <= state.removalsAllowedUntilMs;
}

/** For one read. What it decides of a kind holds for all that the read removes of it. */
export class RemovalGuard {
  readonly #work: UnitOfWork;
  readonly #productId: string;
  /** Null: the product answered 404. */
  readonly #snapshot: ProductSnapshot | null;
  readonly #read: ReadContext;
  readonly #decided = new Map<Kind, boolean>();

  constructor(work: UnitOfWork, productId: string, snapshot: ProductSnapshot | null, read: ReadContext) {
    this.#work = work;
    this.#productId = productId;
    this.#snapshot = snapshot;
    this.#read = read;
  }

  /**
   * To be asked when the removal is confirmed, after everything that the read leaves out was marked as missing.
   *
   * @param missingAtMs the first sighting.
   * @returns false: nothing of the kind is removed by this read.
   */
  allows(kind: Kind, missingAtMs: number | null, answer: 'plain' | 'contradicts itself' = 'plain'): boolean {
    if (areRemovalsAllowed(this.#work)) return true;
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
    // As old as the sighting: a standing request that this read came too early for must be met by the next one.
    this.#work.requestRead(this.#productId, 'confirm_removal', {
      seq: this.#read.s0,
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

  /** Several variants, and the answer shows none: that is a deleted product, which answers 404. */
  #holdsVariants({ variants }: ProductSnapshot): boolean {
    const shown = new Set(variants.map(({ variantId }) => variantId));
    const live = this.#work.tables.variantsOf(this.#productId).filter(({ goneAtMs }) => goneAtMs === null);
    const missing = live.filter(({ variantId }) => !shown.has(variantId)).length;
    const isEmptied = live.length > 1 && missing === live.length;
    return isEmptied || readHolds({ before: live.length, missing });
  }

  /** Levels in several warehouses, and the answer shows none. To close one warehouse is ordinary, even the only one. */
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

/** Stock, and no warehouse that holds it: an own product's total is the sum of its warehouses. */
export function contradictsItself({ kind, levels, availableQty }: VariantSnapshot): boolean {
  return kind === 'own' && levels?.length === 0 && availableQty !== 0;
}
