import type { Cell, Variant } from './model.ts';

/** Open orders: stock they hold is reserved until they are cancelled or shipped. */

/** A line keeps its cell and not a warehouse's id: a warehouse removed and added again holds nothing for it. */
export type OrderLine = { readonly variant: Variant; readonly cell: Cell; readonly qty: number };
export type Order = { readonly id: string; readonly lines: readonly OrderLine[] };

export type Orders = {
  readonly size: number;
  add(order: Order): void;
  get(id: string): Order | undefined;
  remove(id: string): void;
  /** The n-th open order, in no particular but repeatable order. */
  at(index: number): Order | undefined;
};

export function createOrders(): Orders {
  const list: Order[] = [];
  const indexById = new Map<string, number>();
  return {
    get size() {
      return list.length;
    },
    add: (order) => {
      indexById.set(order.id, list.length);
      list.push(order);
    },
    get: (id) => list[indexById.get(id) ?? -1],
    at: (index) => list[index],
    remove: (id) => {
      const index = indexById.get(id);
      if (index === undefined) return;
      indexById.delete(id);
      const last = list.pop()!;
      if (last.id === id) return;
      list[index] = last;
      indexById.set(last.id, index);
    },
  };
}
