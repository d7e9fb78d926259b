/**
 * A value that a reader may trust is right, whatever happened to processes, machine and files. The only exception is
 * the one loss without a trace: the network lost the last webhook of a level (docs/architecture.md#promises).
 */
import type { SimulatedService } from '../../../src/sandbox/sandbox.ts';
import type { SentItem } from '../../../src/sandbox/network/webhooks.ts';
import { prepared } from '../../../src/sqlite/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';

interface Row {
  readonly key: string;
  readonly qty: number;
}

/** A heartbeat counts for 10 s, it is written each second, and samples are 2 s apart. */
const TOLERATED_MS = 12_000;

export class Trusted {
  readonly #fault: (what: string) => void;
  /** Last change of each level. */
  readonly #last = new Map<string, SentItem>();
  readonly #reached = new WeakSet<SentItem>();
  readonly #wrongSinceMs = new Map<string, number>();
  /** Bundles that may have changed with the catalogue, which no webhook says, until the mirror has them right. */
  readonly #untold = new Set<string>();
  longestMs = 0;

  constructor(fault: (what: string) => void) {
    this.#fault = fault;
  }

  happened(items: readonly SentItem[]): void {
    for (const item of items) this.#last.set(`${item.id}/${item.warehouse_id}`, item);
  }

  /** The network has carried a delivery to the host; from here on, losing it is the program's fault. */
  reached(items: readonly SentItem[]): void {
    for (const item of items) this.#reached.add(item);
  }

  catalogueChanged({ truth }: SimulatedService): void {
    for (const { id, kind } of truth.variants) if (kind === 'bundle') this.#untold.add(id);
  }

  unread(): void {
    this.#wrongSinceMs.clear();
  }

  check(db: Db, { truth }: SimulatedService, nowMs: number): void {
    const held = trustedRows(db);
    const wrong = new Map<string, string>();
    const { levels, variants } = truth.snapshot();
    const haveReached = new Map<string, boolean>();
    for (const { variantId, warehouseId, availableQty, kind } of levels) {
      const key = `${variantId}/${warehouseId}`;
      const hasReached = this.#hasReached(key);
      haveReached.set(variantId, (haveReached.get(variantId) ?? true) && hasReached);
      const qty = held.get(key);
      if (kind === 'pulled' || qty === undefined || qty === availableQty || !hasReached) continue;
      wrong.set(key, `${qty}, the store has ${availableQty}`);
    }
    for (const { variantId, availableQty, kind } of variants) {
      const qty = held.get(`${variantId}/`);
      if (qty === availableQty) this.#untold.delete(variantId);
      if (qty === undefined || qty === availableQty || this.#untold.has(variantId)) continue;
      // A bundle moves with the webhooks of its components.
      const components = truth.variant(variantId)?.components.map(({ variant }) => variant.id) ?? [];
      const moving = kind === 'bundle' ? components : [variantId];
      if (moving.every((id) => haveReached.get(id) === true))
        wrong.set(variantId, `${qty}, the store has ${availableQty}`);
    }
    for (const key of this.#wrongSinceMs.keys()) if (!wrong.has(key)) this.#wrongSinceMs.delete(key);
    for (const [key, how] of wrong) {
      const sinceMs = this.#wrongSinceMs.get(key) ?? nowMs;
      this.#wrongSinceMs.set(key, sinceMs);
      this.longestMs = Math.max(this.longestMs, nowMs - sinceMs);
      if (nowMs - sinceMs > TOLERATED_MS)
        this.#fault(`${key} is trusted and wrong: the mirror has ${how}, and the last webhook was not lost`);
    }
  }

  #hasReached(key: string): boolean {
    const last = this.#last.get(key);
    return last === undefined || this.#reached.has(last);
  }
}

/** By variant and warehouse; totals have no warehouse. */
function trustedRows(db: Db): Map<string, number> {
  const rows = prepared<[], Row>(
    db,
    `SELECT variant_id || '/' || coalesce(warehouse_id, '') AS key, available_qty AS qty
     FROM mirror_sellable
     WHERE trusted = 1`,
  ).all();
  return new Map(rows.map(({ key, qty }) => [key, qty]));
}
