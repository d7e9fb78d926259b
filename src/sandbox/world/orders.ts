import { dropOldest } from './drop-oldest.ts';
import type { StockLevel, Variant } from './model.ts';

/** The store's orders. An open order reserves its stock until it is cancelled or shipped. */

/** A line refers to its stock level, not to a warehouse id: a warehouse removed and added again holds nothing for it. */
export interface OrderLine {
  readonly variant: Variant;
  readonly level: StockLevel;
  readonly qty: number;
}

/** The items ordered: a bundle as itself, while the lines have its components. */
export interface Ware {
  readonly variant: Variant;
  readonly qty: number;
}

export interface Order {
  readonly id: string;
  readonly lines: readonly OrderLine[];
  readonly wares: readonly Ware[];
  readonly createTimeMs: number;
  updateTimeMs: number;
  readonly state: 'open' | 'shipped' | 'canceled';
  /** Why it was cancelled, if it was. */
  readonly cancelReason: string | null;
  deleted: boolean;
}

const CLOSED_KEPT = 10_000;

export class Orders {
  readonly #list: Order[] = [];
  readonly #indexById = new Map<string, number>();
  readonly #aside = new Map<string, Order>();
  readonly #closed = new Map<string, Order>();

  /** How many open orders `at` can return. */
  get size(): number {
    return this.#list.length;
  }

  add(order: Order): void {
    this.#indexById.set(order.id, this.#list.length);
    this.#list.push(order);
  }

  /** Hides an open order from `at`: a person placed it, so random traffic must not touch it. */
  setAside(order: Order): void {
    if (this.#takeFromList(order.id)) this.#aside.set(order.id, order);
  }

  /** An open order. */
  get(id: string): Order | undefined {
    return this.#list[this.#indexById.get(id) ?? -1] ?? this.#aside.get(id);
  }

  /** Any order, open or not; of the closed ones the last 10,000. */
  find(id: string): Order | undefined {
    return this.get(id) ?? this.#closed.get(id);
  }

  /** Takes an order from the open ones. */
  close(order: Order): void {
    if (!this.#takeFromList(order.id) && !this.#aside.delete(order.id)) return;
    this.#closed.set(order.id, order);
    if (this.#closed.size > CLOSED_KEPT) dropOldest(this.#closed);
  }

  /** The n-th open order that is not hidden; the order is arbitrary but repeatable. */
  at(index: number): Order | undefined {
    return this.#list[index];
  }

  /** The last order takes the place of the one that is taken. */
  #takeFromList(id: string): boolean {
    const index = this.#indexById.get(id);
    if (index === undefined) return false;
    this.#indexById.delete(id);
    const last = this.#list.pop();
    if (last !== undefined && last.id !== id) {
      this.#list[index] = last;
      this.#indexById.set(last.id, index);
    }
    return true;
  }
}
