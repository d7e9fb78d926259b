/**
 * A value that a reader may trust is right, whatever happened to processes, machine, files and the way in. The only
 * exception is the one loss without a trace: the last webhook of a level did not arrive (README.md#promises).
 * It is one until everything is read after a barrier or a proven outage, and for the bound of the schedule at most.
 */
import type { SimulatedService } from '../../../src/sandbox/sandbox.ts';
import type { SentItem } from '../../../src/sandbox/network/webhooks.ts';
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';

interface LastChange {
  readonly item: SentItem;
  readonly atMs: number;
}

interface TrustedOptions {
  readonly fault: (what: string) => void;
  readonly nowMs: () => number;
  /** VERIFY_WITHIN_HOURS; null if nothing is read by schedule. */
  readonly verifyWithinMs: () => number | null;
  /** Deliveries come through a stream. */
  readonly hasStream: boolean;
}

interface Row {
  readonly key: string;
  readonly qty: number;
}

/** A heartbeat counts for 10 s, it is written each second, and samples are 2 s apart. */
const TOLERATED_MS = 12_000;
/** A mirror is current as long as nothing has waited longer to enter or leave the stream. */
const IN_STREAM_MS = 7_000;
/** Its webhook did not arrive, and everything has been read since. */
const TOLERATED_AFTER_BARRIER_MS = 3_000;

export class Trusted {
  readonly #options: TrustedOptions;
  readonly #last = new Map<string, LastChange>();
  /** When they did. */
  readonly #reached = new WeakMap<SentItem, number>();
  readonly #wrongSinceMs = new Map<string, number>();
  /** Bundles that may have changed with the catalogue, which no webhook says, until the mirror has them right. */
  readonly #untold = new Set<string>();
  /** Until then, changes that did not arrive are no exception. */
  #shownUntilMs = Number.NEGATIVE_INFINITY;
  #aliveAtMs = 0;
  /** The mirror has written a heartbeat since the last check. */
  #isBeating = false;

  constructor(options: TrustedOptions) {
    this.#options = options;
  }

  happened(items: readonly SentItem[]): void {
    const atMs = this.#options.nowMs();
    for (const item of items) this.#last.set(`${item.id}/${item.warehouse_id}`, { item, atMs });
  }

  /** Rows that are trusted from now on show every change until then. */
  showsUntil(atMs: number): void {
    this.#shownUntilMs = Math.max(this.#shownUntilMs, atMs);
  }

  /** The network has carried a delivery to the host; from here on, losing it is the program's fault. */
  reached(items: readonly SentItem[]): void {
    const atMs = this.#options.nowMs();
    for (const item of items) if (!this.#reached.has(item)) this.#reached.set(item, atMs);
  }

  catalogueChanged({ truth }: SimulatedService): void {
    for (const { id, kind } of truth.variants) if (kind === 'bundle') this.#untold.add(id);
  }

  unread(): void {
    this.#wrongSinceMs.clear();
  }

  check(db: Db, { truth }: SimulatedService): void {
    const nowMs = this.#options.nowMs();
    const aliveAtMs = aliveAtMsIn(db);
    this.#isBeating = aliveAtMs !== this.#aliveAtMs;
    this.#aliveAtMs = aliveAtMs;
    const held = trustedRows(db);
    const wrong = new Map<string, string>();
    const { levels, variants } = truth.snapshot();
    const mustBeRight = new Map<string, boolean>();
    for (const { variantId, warehouseId, availableQty, kind } of levels) {
      const key = `${variantId}/${warehouseId}`;
      const isKnown = this.#isKnown(key);
      mustBeRight.set(variantId, (mustBeRight.get(variantId) ?? true) && isKnown);
      const qty = held.get(key);
      if (kind === 'pulled' || qty === undefined || qty === availableQty || !isKnown) continue;
      wrong.set(key, `${qty}, the store has ${availableQty}`);
    }
    for (const { variantId, availableQty, kind } of variants) {
      const qty = held.get(`${variantId}/`);
      if (qty === availableQty) this.#untold.delete(variantId);
      if (qty === undefined || qty === availableQty || this.#untold.has(variantId)) continue;
      // A bundle moves with the webhooks of its components.
      const components = truth.variant(variantId)?.components.map(({ variant }) => variant.id) ?? [];
      const moving = kind === 'bundle' ? components : [variantId];
      if (moving.every((id) => mustBeRight.get(id) === true))
        wrong.set(variantId, `${qty}, the store has ${availableQty}`);
    }
    for (const key of this.#wrongSinceMs.keys()) if (!wrong.has(key)) this.#wrongSinceMs.delete(key);
    for (const [key, how] of wrong) {
      const sinceMs = this.#wrongSinceMs.get(key) ?? nowMs;
      this.#wrongSinceMs.set(key, sinceMs);
      // Also a row that was not trusted meanwhile, or that no reader saw.
      if (nowMs - (this.#reachedAtMs(key) ?? sinceMs) > this.#toleratedMs(key))
        this.#options.fault(
          `${key} is trusted and wrong: the mirror has ${how}, and no loss explains it any more`,
        );
    }
  }

  #reachedAtMs(key: string): number | null {
    const last = this.#last.get(key);
    return (last === undefined ? undefined : this.#reached.get(last.item)) ?? null;
  }

  #toleratedMs(key: string): number {
    const last = this.#last.get(key);
    const isShown = last !== undefined && !this.#reached.has(last.item) && last.atMs <= this.#shownUntilMs;
    const toleratedMs = isShown ? TOLERATED_AFTER_BARRIER_MS : TOLERATED_MS;
    // A heartbeat that counts for 10 s says what was current when it was written.
    return toleratedMs + (this.#options.hasStream && !this.#isBeating ? IN_STREAM_MS : 0);
  }

  /** The mirror has had the last change of the level, or has had to read it. */
  #isKnown(key: string): boolean {
    const last = this.#last.get(key);
    if (last === undefined || this.#reached.has(last.item) || last.atMs <= this.#shownUntilMs) return true;
    const { nowMs, verifyWithinMs } = this.#options;
    const withinMs = verifyWithinMs();
    return withinMs !== null && nowMs() - last.atMs > 1.1 * withinMs;
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

function aliveAtMsIn(db: Db): number {
  return (
    prepared<[], { at: number | null }>(db, 'SELECT alive_at_ms AS at FROM service_state').get()?.at ?? 0
  );
}
