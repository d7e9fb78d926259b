/**
 * What a read saw stays seen: once an answer that was sampled after a product's last change is in the mirror, its rows
 * are right, or something speaks against them, whatever was lost before and whatever comes late
 * (docs/architecture.md#promises).
 */
import { available, sellable } from '../../../src/sandbox/world/model.ts';
import type { SimulatedService } from '../../../src/sandbox/sandbox.ts';
import { prepared } from '../../../src/sqlite/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';

/** One answer of `product/detail`, or its 404. */
interface Sighting {
  readonly productId: string;
  /** Mirror's time, as the event log has it. */
  readonly sentAtMs: number;
  /** Real time. Null: it was not sampled at all. */
  readonly sampledAtMs: number | null;
  /** It shows what the store had when it was sampled. */
  readonly isTrue: boolean;
}

interface Watched {
  touchedAtMs: number;
  /** On their way into the event log. */
  sightings: Sighting[];
  /** Of those in the mirror that are true, the one sampled last; null: none. */
  seenAtMs: number | null;
  /** Looked at until then. */
  watchUntilMs: number;
}

interface Row {
  readonly id: string;
  readonly qty: number;
  readonly suspect: number;
}

/** After the last event, so that what it led to is seen. */
const WATCH_MS = 6_000;
const SIGHTINGS_KEPT = 20;

export class Seen {
  readonly #fault: (what: string) => void;
  readonly #nowMs: () => number;
  readonly #areLevelsRead: boolean;
  readonly #products = new Map<string, Watched>();
  readonly #watched = new Set<string>();

  /** @param areLevelsRead details tell warehouses. */
  constructor(fault: (what: string) => void, nowMs: () => number, areLevelsRead: boolean) {
    this.#fault = fault;
    this.#nowMs = nowMs;
    this.#areLevelsRead = areLevelsRead;
  }

  /** Something of the product has changed, or of what its totals are made of. */
  touched(productId: string): void {
    const product = this.#of(productId);
    product.touchedAtMs = this.#nowMs();
    product.watchUntilMs = product.touchedAtMs + WATCH_MS;
  }

  /** The mirror has an answer about it, that is not in its log yet. */
  answered(sighting: Sighting): void {
    const { sightings } = this.#of(sighting.productId);
    sightings.push(sighting);
    if (sightings.length > SIGHTINGS_KEPT) sightings.shift();
  }

  /** The log has an answer. */
  merged(productId: string, sentAtMs: number): void {
    const product = this.#of(productId);
    const sighting = product.sightings.findLast((one) => one.sentAtMs === sentAtMs);
    if (sighting === undefined) return;
    product.sightings = product.sightings.filter((one) => one !== sighting);
    product.watchUntilMs = this.#nowMs() + WATCH_MS;
    product.seenAtMs = sighting.isTrue ? Math.max(product.seenAtMs ?? 0, sighting.sampledAtMs ?? 0) : null;
  }

  /** The mirror received a change. */
  delivered(productId: string): void {
    this.#of(productId).watchUntilMs = this.#nowMs() + WATCH_MS;
  }

  /** What came since may pass for newer than what a read saw: nothing is known until the next one. */
  forget(productId: string): void {
    this.#of(productId).seenAtMs = null;
  }

  /** An old file came back. */
  restore(): void {
    for (const product of this.#products.values()) product.seenAtMs = null;
  }

  /** At any instant. @param which all: also what nothing happened to lately. */
  check(db: Db, service: SimulatedService, which: 'all' | 'watched' = 'watched'): void {
    const nowMs = this.#nowMs();
    for (const productId of which === 'all' ? this.#products.keys() : this.#watched) {
      const { seenAtMs, touchedAtMs, watchUntilMs } = this.#of(productId, 'question');
      if (watchUntilMs < nowMs) this.#watched.delete(productId);
      if (seenAtMs !== null && seenAtMs > touchedAtMs) this.#checkProduct(db, service, productId);
    }
  }

  #checkProduct(db: Db, { truth }: SimulatedService, productId: string): void {
    if (this.#isRequested(db, productId)) return;
    const product = truth.product(productId);
    const rows = (sql: string): Map<string, Row> =>
      new Map(
        prepared<[string], Row>(db, sql)
          .all(productId)
          .map((row) => [row.id, row]),
      );
    const totals = rows(
      'SELECT variant_id AS id, available_qty AS qty, suspect FROM mirror_variants WHERE product_id = ?',
    );
    const levels = rows(
      `SELECT variant_id || '/' || warehouse_id AS id, available_qty AS qty, suspect FROM mirror_stock WHERE product_id = ?`,
    );
    const expect = (what: string, held: Map<string, Row>, id: string, qty: number): void => {
      const row = held.get(id);
      held.delete(id);
      if (row?.suspect === 1 || row?.qty === qty) return;
      this.#fault(`${what} ${id} is ${row?.qty ?? 'missing'}, although a read saw ${qty}`);
    };
    for (const variant of product?.variants ?? []) {
      if (variant.deleted) continue;
      expect('the total of', totals, variant.id, sellable(variant));
      const areRead = this.#areLevelsRead && (variant.kind === 'own' || variant.kind === 'assembled');
      for (const level of variant.levels) {
        const id = `${variant.id}/${level.warehouseId}`;
        if (areRead) expect('the level', levels, id, available(level));
        else levels.delete(id);
      }
    }
    for (const row of [...totals.values(), ...levels.values()]) {
      if (row.suspect === 0) this.#fault(`${row.id} is there, although a read saw that it is gone`);
    }
  }

  /** Something speaks against all rows of the product, also against those that are not there. */
  #isRequested(db: Db, productId: string): boolean {
    const requested = prepared<[string], number>(
      db,
      'SELECT EXISTS (SELECT 1 FROM read_requests WHERE product_id = ? AND is_suspect = 1)',
    );
    return requested.pluck().get(productId) === 1;
  }

  #of(productId: string, why: 'note' | 'question' = 'note'): Watched {
    let product = this.#products.get(productId);
    if (product === undefined) {
      product = { touchedAtMs: 0, sightings: [], seenAtMs: null, watchUntilMs: 0 };
      this.#products.set(productId, product);
    }
    if (why === 'note') this.#watched.add(productId);
    return product;
  }
}
