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

  check(db: Db, { truth }: SimulatedService, nowMs: number): void {
    const wrong = new Map<string, string>();
    const state = prepared<[], string>(db, 'SELECT state FROM mirror_status').pluck().get();
    if (state === 'live') {
      const { levels, variants } = truth.snapshot();
      const held = trustedRows(db);
      const isKnown = new Map<string, boolean>();
      for (const { variantId, warehouseId, availableQty, kind } of levels) {
        const key = `${variantId}/${warehouseId}`;
        isKnown.set(variantId, (isKnown.get(variantId) ?? true) && this.#hasReached(key));
        const qty = held.get(key);
        if (kind === 'pulled' || qty === undefined || qty === availableQty || !this.#hasReached(key))
          continue;
        wrong.set(key, `${qty}, the store has ${availableQty}`);
      }
      for (const { variantId, availableQty, kind } of variants) {
        const qty = held.get(variantId);
        if (kind !== 'own' || qty === undefined || qty === availableQty) continue;
        if (isKnown.get(variantId) === true) wrong.set(variantId, `${qty}, the store has ${availableQty}`);
      }
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

/** Levels by variant and warehouse, totals by variant. */
function trustedRows(db: Db): Map<string, number> {
  const rows = prepared<[], Row>(
    db,
    `SELECT variant_id || '/' || warehouse_id AS key, available_qty AS qty FROM mirror_stock WHERE suspect = 0
     UNION ALL
     SELECT variant_id AS key, available_qty AS qty FROM mirror_variants WHERE suspect = 0`,
  ).all();
  return new Map(rows.map(({ key, qty }) => [key, qty]));
}
