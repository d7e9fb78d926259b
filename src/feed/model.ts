/** Batches for the caller. Rows have the names and meanings of the mirror's SQL views. */

/** The caller stores it in the transaction of the rows. */
export interface Position {
  readonly epoch: string;
  readonly seq: number;
}

export interface RowKey {
  readonly variant_id: string;
  /** null: the variant's total. */
  readonly warehouse_id: string | null;
}

/** A row of `mirror_sellable`. */
export interface SellableRow extends RowKey {
  readonly product_id: string | null;
  readonly sku: string | null;
  readonly product_name: string | null;
  readonly variant_name: string | null;
  readonly warehouse_name: string | null;
  readonly available_qty: number;
  readonly allow_negative_stock: number | null;
  readonly trusted: number;
  readonly why_not: string | null;
  readonly checked_at: number | null;
  readonly change_seq: number;
}

/** A row of `mirror_changes`. */
export interface Change extends RowKey {
  readonly seq: number;
  readonly sku: string | null;
  /** null: there was no row. */
  readonly old_qty: number | null;
  /** null: the row was removed. */
  readonly new_qty: number | null;
  readonly source: string;
  readonly reason: string | null;
  readonly order_id: string | null;
  readonly user_id: string | null;
  readonly update_time: number | null;
  readonly recorded_at: number;
  readonly request_id: string | null;
  readonly delta: number | null;
  readonly product_name: string | null;
  readonly variant_name: string | null;
  readonly warehouse_name: string | null;
}

export interface UntrustedRow extends RowKey {
  readonly why_not: string;
}

/** Replaces the trust of all rows. */
export interface Trust {
  readonly state: string;
  readonly cause: string | null;
  /** Epoch milliseconds, in the mirror's clock. */
  readonly as_of: number;
  /** Every other row is trusted. null: trust no row. */
  readonly untrusted: readonly UntrustedRow[] | null;
  /** null: unknown, or more than 10,000. */
  readonly untrusted_count: number | null;
}

export type StartOverReason = 'first' | 'epoch_changed' | 'pruned' | 'ahead';

/** A part of the whole stock. Its transaction lasts until a part has a position. */
export interface SnapshotBatch {
  readonly kind: 'snapshot';
  readonly why: StartOverReason;
  /** true: delete all rows of the copy first. */
  readonly isFirst: boolean;
  readonly rows: readonly SellableRow[];
  readonly removed: readonly RowKey[];
  /** null: more parts follow. */
  readonly position: Position | null;
}

export interface ChangesBatch {
  readonly kind: 'changes';
  /** Each movement, in order. */
  readonly changes: readonly Change[];
  /** Present rows: insert or replace them. */
  readonly rows: readonly SellableRow[];
  /** Rows to delete. */
  readonly removed: readonly RowKey[];
  readonly position: Position;
}

export interface TrustBatch {
  readonly kind: 'trust';
  readonly trust: Trust;
  readonly position: Position;
}

export type Batch = SnapshotBatch | ChangesBatch | TrustBatch;
