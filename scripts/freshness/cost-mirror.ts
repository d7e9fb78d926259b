/**
 * The rules as a cost model, for stores that are too large to apply every entry: a change that does not follow the one
 * before opens a gap, which is read after its grace unless the missing ones come; a read corrects what it dominates. One
 * level a product.
 */
import { GAP_GRACE_DEFAULT_MS, REPLICA_LAG_MS } from '../../src/core/limits.ts';
import type { Answer, Change, Mirror, Proof } from './mirror.ts';

interface Gap {
  readonly openedAtMs: number;
  readonly missing: Set<number>;
}

const NONE: readonly Proof[] = [];

export class CostMirror implements Mirror {
  seq = 0;
  readonly #qty: Float64Array;
  readonly #eventAtMs: Float64Array;
  readonly #eventSeq: Float64Array;
  /** When a read is wanted. */
  readonly #wanted = new Map<number, number>();
  /** Which figures are missing, and since when. */
  readonly #gaps = new Map<number, Gap>();

  constructor(products: number) {
    this.#qty = new Float64Array(products);
    this.#eventAtMs = new Float64Array(products).fill(-Infinity);
    this.#eventSeq = new Float64Array(products);
  }

  qty(product: number): number {
    return this.#qty[product] ?? 0;
  }

  deliver(changes: readonly Change[], atMs: number): readonly Proof[] {
    this.seq += 1;
    for (const change of changes) {
      const { product } = change;
      const qty = this.qty(product);
      this.#eventAtMs[product] = atMs;
      this.#eventSeq[product] = this.seq;
      if (change.new <= qty) {
        this.#close(product, change.new);
        continue;
      }
      if (change.old !== qty) this.#open({ product, from: qty + 1, to: change.old, atMs });
      this.#qty[product] = change.new;
    }
    return NONE;
  }

  answer({ product, qty, s0, sentAtMs, atMs }: Answer): readonly Proof[] {
    this.seq += 1;
    const eventAtMs = this.#eventAtMs[product] ?? 0;
    const isConcurrent = (this.#eventSeq[product] ?? 0) > s0 || sentAtMs < eventAtMs + REPLICA_LAG_MS;
    const gap = this.#gaps.get(product);
    const proofs: Proof[] = [];
    if (gap !== undefined && gap.openedAtMs + REPLICA_LAG_MS <= sentAtMs) {
      this.#gaps.delete(product);
      proofs.push({ product, openedAtMs: gap.openedAtMs, by: 'gap' });
    }
    if (isConcurrent) {
      if (this.qty(product) !== qty) this.#wanted.set(product, atMs + REPLICA_LAG_MS);
      return proofs;
    }
    if (!this.#gaps.has(product)) this.#wanted.delete(product);
    if (this.qty(product) !== qty) {
      this.#qty[product] = qty;
      proofs.push({ product, openedAtMs: atMs, by: 'read' });
    }
    return proofs;
  }

  due(nowMs: number): readonly number[] {
    const due: number[] = [];
    for (const [product, dueAtMs] of this.#wanted) if (dueAtMs <= nowMs) due.push(product);
    return due;
  }

  #open(gap: {
    readonly product: number;
    readonly from: number;
    readonly to: number;
    readonly atMs: number;
  }) {
    const { product, from, to, atMs } = gap;
    const { openedAtMs, missing } = this.#gaps.get(product) ?? { openedAtMs: atMs, missing: new Set() };
    for (let figure = from; figure <= to; figure++) missing.add(figure);
    this.#gaps.set(product, { openedAtMs, missing });
    this.#wanted.set(product, openedAtMs + GAP_GRACE_DEFAULT_MS);
  }

  #close(product: number, figure: number): void {
    const gap = this.#gaps.get(product);
    if (gap === undefined) return;
    gap.missing.delete(figure);
    if (gap.missing.size > 0) return;
    this.#gaps.delete(product);
    this.#wanted.delete(product);
  }
}
