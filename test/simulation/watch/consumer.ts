/**
 * A consumer that follows the mirror by numbers and must end with an equal copy
 * (docs/reading-the-mirror.md#following-changes).
 */
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { present } from '../../shared/present.ts';

interface ChangeRow {
  readonly seq: number;
  readonly variant_id: string;
  readonly warehouse_id: string | null;
  readonly old_qty: number | null;
  readonly new_qty: number | null;
}

interface StockRow {
  readonly variant_id: string;
  readonly warehouse_id: string;
  readonly product_id: string | null;
  readonly sku: string | null;
  readonly product_name: string | null;
  readonly variant_name: string;
  readonly available_qty: number;
  readonly on_hand: number | null;
  readonly reserved_qty: number | null;
  readonly change_seq: number;
}

const STOCK = `SELECT variant_id, warehouse_id, product_id, sku, product_name, variant_name, available_qty, on_hand,
  reserved_qty, change_seq FROM mirror_stock`;

export class Consumer {
  readonly #fault: (what: string) => void;
  #epoch: string | null = null;
  #lastSeq = 0;
  #lastChangeSeq = 0;
  readonly #quantities = new Map<string, number>();
  readonly #rows = new Map<string, StockRow>();
  epochs = 0;
  /** Rows of the feed. */
  seen = 0;

  constructor(fault: (what: string) => void) {
    this.#fault = fault;
  }

  poll(db: Db, limit: number): void {
    const take = db.transaction(() => {
      this.#startOverWhenHistoryDid(db);
      this.#takeChanges(db, limit);
      this.#takeRows(db);
    });
    take();
  }

  finish(db: Db): void {
    this.poll(db, Number.MAX_SAFE_INTEGER);
    const stock = prepared<[], StockRow>(db, STOCK).all();
    const keys = new Set(stock.map(keyOf));
    for (const row of stock) {
      const key = keyOf(row);
      if (this.#quantities.get(key) !== row.available_qty) {
        this.#fault(
          `consumer of the feed holds ${this.#quantities.get(key)} for ${key}, the mirror ${row.available_qty}`,
        );
      }
      const copied = JSON.stringify(this.#rows.get(key));
      if (copied !== JSON.stringify(row)) {
        this.#fault(`consumer by change_seq holds ${copied}, the mirror ${JSON.stringify(row)}`);
      }
    }
    for (const key of this.#quantities.keys()) {
      if (!keys.has(key)) this.#fault(`consumer of the feed still holds ${key}, which is gone`);
    }
  }

  #startOverWhenHistoryDid(db: Db): void {
    const epoch = prepared<[], string>(db, 'SELECT epoch FROM mirror_status').pluck().get() ?? null;
    if (epoch === this.#epoch) return;
    this.epochs += 1;
    this.#epoch = epoch;
    this.#startOver();
  }

  #startOver(): void {
    this.#lastSeq = 0;
    this.#lastChangeSeq = 0;
    this.#quantities.clear();
    this.#rows.clear();
  }

  #takeChanges(db: Db, limit: number): void {
    const changes = prepared<[number, number], ChangeRow>(
      db,
      'SELECT seq, variant_id, warehouse_id, old_qty, new_qty FROM mirror_changes WHERE seq > ? ORDER BY seq LIMIT ?',
    ).all(this.#lastSeq, limit);
    for (const change of changes) {
      if (change.seq <= this.#lastSeq) this.#fault(`change ${change.seq} came after ${this.#lastSeq}`);
      this.#lastSeq = change.seq;
      this.seen += 1;
      if (change.warehouse_id === null) continue;
      const key = keyOf({ ...change, warehouse_id: change.warehouse_id });
      const held = this.#quantities.get(key) ?? null;
      if (change.old_qty !== held) {
        this.#fault(
          `change ${change.seq} of ${key} goes from ${change.old_qty}, the one before it to ${held}`,
        );
      }
      if (change.new_qty === null) {
        this.#quantities.delete(key);
        if ((this.#rows.get(key)?.change_seq ?? 0) <= change.seq) this.#rows.delete(key);
      } else this.#quantities.set(key, change.new_qty);
    }
  }

  #takeRows(db: Db): void {
    for (const row of prepared<[number], StockRow>(
      db,
      `${STOCK} WHERE change_seq > ? ORDER BY change_seq`,
    ).all(this.#lastChangeSeq)) {
      this.#lastChangeSeq = row.change_seq;
      this.#rows.set(keyOf(row), row);
    }
    const [last, highest] = [
      'SELECT last_seq FROM mirror_status',
      'SELECT max(change_seq) FROM mirror_stock',
    ].map((sql) => prepared<[], number>(db, sql).pluck().get() ?? 0);
    if (present(last) < present(highest)) this.#fault(`last_seq ${last} is below a row's ${highest}`);
  }
}

function keyOf(row: { readonly variant_id: string; readonly warehouse_id: string }): string {
  return `${row.variant_id}/${row.warehouse_id}`;
}
