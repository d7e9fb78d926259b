/** Every change of the store's own stock, and when it really happened. */
import type { SentItem } from '../../../src/sandbox/network/webhooks.ts';

export interface StockChange {
  readonly item: SentItem;
  /** True time. */
  readonly atMs: number;
}

export class StockHistory {
  readonly #changes: StockChange[] = [];
  readonly #ofVariant = new Map<string, StockChange[]>();

  /** Oldest first. */
  get changes(): readonly StockChange[] {
    return this.#changes;
  }

  add(item: SentItem, atMs: number): void {
    const change = { item, atMs };
    this.#changes.push(change);
    const ofVariant = this.#ofVariant.get(item.id) ?? [];
    ofVariant.push(change);
    this.#ofVariant.set(item.id, ofVariant);
  }

  /** Whether one of the variant's quantities was not the same at the two instants. */
  differed(variantId: string, beforeMs: number, afterMs: number): boolean {
    const between = (this.#ofVariant.get(variantId) ?? []).filter(
      ({ atMs }) => atMs > beforeMs && atMs <= afterMs,
    );
    const warehouses = new Set(between.map(({ item }) => item.warehouse_id));
    return [...warehouses].some((warehouseId) => {
      const items = between.map(({ item }) => item).filter((item) => item.warehouse_id === warehouseId);
      return items[0]?.old !== items.at(-1)?.new;
    });
  }
}
