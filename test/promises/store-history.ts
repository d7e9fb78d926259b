/** Compares `mirror_sellable` with the quantities that the store really had, while both change. */
import Database from 'better-sqlite3';
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import { available, sellable } from '../../src/sandbox/world/model.ts';

/** A webhook of the last change may still travel, or wait to be applied. */
const TRAVEL_MS = 5_000;

interface Quantity {
  readonly qty: number;
  readonly sinceMs: number;
}

export interface SellableRow {
  readonly variant_id: string;
  readonly warehouse_id: string | null;
  readonly available_qty: number;
  readonly trusted: number;
  readonly why_not: string | null;
}

/** What an ERP sees at one moment. */
export interface Seen {
  readonly state: string;
  readonly stateCause: string | null;
  readonly rows: readonly SellableRow[];
}

export type Level = Pick<SellableRow, 'variant_id' | 'warehouse_id'>;

/** Reads the mirror as an ERP does: in one transaction. */
export function readSellable(databasePath: string): Seen {
  const db = new Database(databasePath, { readonly: true, fileMustExist: true });
  try {
    return db.transaction((): Seen => {
      const [status] = db
        .prepare<[], { state: string; stateCause: string | null }>(
          'SELECT state, state_cause AS stateCause FROM mirror_status',
        )
        .all();
      if (status === undefined) throw new Error('mirror_status has no row');
      const rows = db
        .prepare<[], SellableRow>(
          'SELECT variant_id, warehouse_id, available_qty, trusted, why_not FROM mirror_sellable',
        )
        .all();
      return { ...status, rows };
    })();
  } finally {
    db.close();
  }
}

export const keyOf = ({ variant_id: variantId, warehouse_id: warehouseId }: Level): string =>
  `${variantId}/${warehouseId ?? ''}`;

export class StoreHistory {
  readonly #truth: Pick<SimulatedService['truth'], 'variants'>;
  readonly #quantities = new Map<string, Quantity[]>();

  constructor(truth: Pick<SimulatedService['truth'], 'variants'>) {
    this.#truth = truth;
    this.record();
  }

  /** Call it after each change in the store. */
  record(): void {
    const nowMs = Date.now();
    for (const variant of this.#truth.variants) {
      this.#note(keyOf({ variant_id: variant.id, warehouse_id: null }), sellable(variant), nowMs);
      for (const level of variant.levels) {
        const key = keyOf({ variant_id: variant.id, warehouse_id: level.warehouseId });
        this.#note(key, available(level), nowMs);
      }
    }
  }

  /** The instants from which on the level had this quantity. */
  timesOf(level: Level, qty: number): number[] {
    return this.#of(level)
      .filter((each) => each.qty === qty)
      .map(({ sinceMs }) => sinceMs);
  }

  /** Rows that are trusted, and show what the store no longer had at `atMs` less the time that a webhook travels. */
  wrongAndTrusted({ rows }: Seen, atMs: number): string[] {
    return rows
      .filter((row) => row.trusted === 1 && !this.#hadLately(row, atMs - TRAVEL_MS))
      .map((row) => {
        const now = this.#of(row).at(-1)?.qty ?? 'nothing';
        return `${keyOf(row)}: the mirror has ${row.available_qty}, the store ${now}`;
      });
  }

  #hadLately(row: SellableRow, sinceMs: number): boolean {
    return this.#of(row).some(({ qty }, at, all) => {
      const untilMs = all[at + 1]?.sinceMs ?? Infinity;
      return qty === row.available_qty && untilMs >= sinceMs;
    });
  }

  #of(level: Level): readonly Quantity[] {
    return this.#quantities.get(keyOf(level)) ?? [];
  }

  #note(key: string, qty: number, sinceMs: number): void {
    const quantities = this.#quantities.get(key) ?? [];
    if (quantities.at(-1)?.qty === qty) return;
    this.#quantities.set(key, [...quantities, { qty, sinceMs }]);
  }
}
