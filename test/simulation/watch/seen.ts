/**
 * After an answer sampled later than a product's last change, its rows are right or suspect, whatever arrives late
 * (README.md#promises).
 */
import { available, sellable } from '../../../src/sandbox/world/model.ts';
import type { SimulatedService } from '../../../src/sandbox/sandbox.ts';
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';

interface Sighting {
  readonly productId: string;
  readonly sentAtMs: number;
  /** Real time; null if not sampled. */
  readonly sampledAtMs: number | null;
  readonly isTrue: boolean;
}

interface Watched {
  touchedAtMs: number;
  sightings: Sighting[];
  seenAtMs: number | null;
  watchUntilMs: number;
}

interface Row {
  readonly id: string;
  readonly qty: number;
  readonly suspect: number;
}

const WATCH_MS = 6_000;
const SIGHTINGS_KEPT = 20;

export class Seen {
  readonly #fault: (what: string) => void;
  readonly #nowMs: () => number;
  readonly #areLevelsRead: boolean;
  readonly #products = new Map<string, Watched>();
  readonly #watched = new Set<string>();

  constructor(fault: (what: string) => void, nowMs: () => number, areLevelsRead: boolean) {
    this.#fault = fault;
    this.#nowMs = nowMs;
    this.#areLevelsRead = areLevelsRead;
  }

  touched(productId: string): void {
    const product = this.#of(productId);
    product.touchedAtMs = this.#nowMs();
    product.watchUntilMs = product.touchedAtMs + WATCH_MS;
  }

  answered(sighting: Sighting): void {
    const { sightings } = this.#of(sighting.productId);
    sightings.push(sighting);
    if (sightings.length > SIGHTINGS_KEPT) sightings.shift();
  }

  /** @returns when the answer was sampled; null if it is not known, or not true. */
  merged(productId: string, sentAtMs: number): number | null {
    const product = this.#of(productId);
    const sighting = product.sightings.findLast((one) => one.sentAtMs === sentAtMs);
    if (sighting === undefined) return null;
    product.sightings = product.sightings.filter((one) => one !== sighting);
    product.watchUntilMs = this.#nowMs() + WATCH_MS;
    product.seenAtMs = sighting.isTrue ? Math.max(product.seenAtMs ?? 0, sighting.sampledAtMs ?? 0) : null;
    return sighting.isTrue ? sighting.sampledAtMs : null;
  }

  delivered(productId: string): void {
    this.#of(productId).watchUntilMs = this.#nowMs() + WATCH_MS;
  }

  forget(productId: string): void {
    this.#of(productId).seenAtMs = null;
  }

  restore(): void {
    for (const product of this.#products.values()) product.seenAtMs = null;
  }

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

  #isRequested(db: Db, productId: string): boolean {
    const requested = prepared<[string], number>(
      db,
      'SELECT EXISTS (SELECT 1 FROM due_reads WHERE product_id = ? AND is_suspect = 1)',
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
