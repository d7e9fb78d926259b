/** Counts live rows while rows are written: counting a million products would keep deliveries waiting. */
import { onlyRow } from '../../sqlite/prepared.ts';
import type { Kind, LiveCounts, prepareTables } from './table-statements.ts';

interface Mortal {
  readonly goneAtMs: number | null;
}

export function isLive(row: Mortal | undefined): boolean {
  return row?.goneAtMs === null;
}

type Statements = Pick<
  ReturnType<typeof prepareTables>,
  'liveCounts' | 'putLiveCounts' | 'addLevels' | 'addVariantLevels'
>;

export class LiveRows {
  readonly #sql: Statements;
  #counts: LiveCounts;
  #areWritten = true;
  /** Live levels that a product or a variant has gained since the last write. */
  readonly #levelsOfProducts = new Map<string, number>();
  readonly #levelsOfVariants = new Map<string, number>();

  constructor(sql: Statements) {
    this.#sql = sql;
    this.#counts = onlyRow(sql.liveCounts);
  }

  of(kind: Kind): number {
    return this.#counts[kind];
  }

  /** @returns by how much the number of live rows has changed. */
  note(kind: Kind, before: Mortal | undefined, after: Mortal): number {
    const change = Number(isLive(after)) - Number(isLive(before));
    this.#counts[kind] += change;
    if (change !== 0) this.#areWritten = false;
    return change;
  }

  addLevelsOfProduct(productId: string | null | undefined, change: number): void {
    if (typeof productId !== 'string' || change === 0) return;
    this.#levelsOfProducts.set(productId, (this.#levelsOfProducts.get(productId) ?? 0) + change);
  }

  addLevelsOfVariant(variantId: string, change: number): void {
    this.#levelsOfVariants.set(variantId, (this.#levelsOfVariants.get(variantId) ?? 0) + change);
  }

  write(): void {
    for (const [productId, change] of this.#levelsOfProducts) {
      if (change !== 0) this.#sql.addLevels.run(productId, change);
    }
    this.#levelsOfProducts.clear();
    for (const [variantId, change] of this.#levelsOfVariants) {
      if (change !== 0) this.#sql.addVariantLevels.run(change, variantId);
    }
    this.#levelsOfVariants.clear();
    if (!this.#areWritten) this.#sql.putLiveCounts.run(this.#counts);
    this.#areWritten = true;
  }

  /** Forgets what was not committed. */
  reload(): void {
    this.#levelsOfProducts.clear();
    this.#levelsOfVariants.clear();
    this.#counts = onlyRow(this.#sql.liveCounts);
    this.#areWritten = true;
  }
}
