import type { Cell, Variant } from './model.ts';

/** The store's orders. An open order reserves its stock until it is cancelled or shipped. */

/** A line refers to its stock level, not to a warehouse id: a warehouse removed and added again holds nothing for it. */
export type OrderLine = { readonly variant: Variant; readonly cell: Cell; readonly qty: number };

/** The items ordered: a bundle as itself, while the lines have its components. */
export type Ware = { readonly variant: Variant; readonly qty: number };

export type Order = {
  readonly id: string;
  readonly lines: readonly OrderLine[];
  readonly wares: readonly Ware[];
  readonly createTimeMs: number;
  updateTimeMs: number;
  state: 'open' | 'shipped' | 'canceled';
  /** Why it was cancelled, if it was. */
  cancelReason: string | null;
  deleted: boolean;
};

export type Orders = {
  /** How many open orders `at` can return. */
  readonly size: number;
  add(order: Order): void;
  /** Hides an open order from `at`: a person placed it, so random traffic must not touch it. */
  setAside(order: Order): void;
  /** An open order. */
  get(id: string): Order | undefined;
  /** Any order, open or not; of the closed ones the last 10,000. */
  find(id: string): Order | undefined;
  /** Takes an order from the open ones. */
  close(order: Order): void;
  /** The n-th open order that is not hidden; the order is arbitrary but repeatable. */
  at(index: number): Order | undefined;
};

const CLOSED_KEPT = 10_000;

export function createOrders(): Orders {
  const closed = new Map<string, Order>();
  const list: Order[] = [];
  const indexById = new Map<string, number>();
  const aside = new Map<string, Order>();
  const takeFromList = (id: string): boolean => {
    const index = indexById.get(id);
    if (index === undefined) return false;
    indexById.delete(id);
    const last = list.pop()!;
    if (last.id !== id) {
      list[index] = last;
      indexById.set(last.id, index);
    }
    return true;
  };
  return {
    get size() {
      return list.length;
    },
    add: (order) => {
      indexById.set(order.id, list.length);
      list.push(order);
    },
    setAside: (order) => {
      if (takeFromList(order.id)) aside.set(order.id, order);
    },
    get: (id) => list[indexById.get(id) ?? -1] ?? aside.get(id),
    find: (id) => list[indexById.get(id) ?? -1] ?? aside.get(id) ?? closed.get(id),
    at: (index) => list[index],
    close: (order) => {
      if (!takeFromList(order.id) && !aside.delete(order.id)) return;
      closed.set(order.id, order);
      if (closed.size > CLOSED_KEPT) closed.delete(closed.keys().next().value!);
    },
  };
}
