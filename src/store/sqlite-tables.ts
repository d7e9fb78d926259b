/** The fold's tables on SQLite. Finds and stores; the rules decide (core/tables.ts). */
import type { Unreadable } from '../core/entry.ts';
import { LATEST_MS } from '../core/limits.ts';
import type { Cell, Change, Gap, MirrorState, Obligation, Product, Variant } from '../core/model.ts';
import type { LastRead, Tables } from '../core/tables.ts';
import type { Db } from './open.ts';
import * as schema from './schema.ts';
import { insertInto, selectFrom, upsert } from './statements.ts';

type Flagged<T, K extends keyof T> = Omit<T, K> & Record<K, number>;
type VariantRow = Flagged<Variant, 'allowNegativeStock'>;
type ObligationRow = Flagged<Obligation, 'doubt'>;
type ProductRow = Flagged<Omit<Product, 'detailJson'>, 'hasBundle'>;

const variantOf = (row: VariantRow): Variant => ({
  ...row,
  allowNegativeStock: row.allowNegativeStock === 1,
});

/** How far back the feed is searched for products that move. */
const RECENT_CHANGES = 5_000;

function prepare(db: Db) {
  const text = (sql: string) => db.prepare<unknown[], string>(sql).pluck();
  const count = (sql: string) => db.prepare<[], number>(sql).pluck();
  return {
    state: db.prepare<[], MirrorState>(selectFrom(schema.mirrorState)),
    putState: db.prepare(upsert(schema.mirrorState, ['id'])),
    cell: db.prepare<[string, string], Cell>(
      `${selectFrom(schema.cells)} WHERE variant_id = ? AND warehouse_id = ?`,
    ),
    cellsOf: db.prepare<[string], Cell>(
      `${selectFrom(schema.cells)} WHERE variant_id = ? ORDER BY warehouse_id`,
    ),
    putCell: db.prepare(upsert(schema.cells, ['variantId', 'warehouseId'])),
    variant: db.prepare<[string], VariantRow>(`${selectFrom(schema.variants)} WHERE variant_id = ?`),
    variantsOf: db.prepare<[string], VariantRow>(
      `${selectFrom(schema.variants)} WHERE product_id = ? ORDER BY variant_id`,
    ),
    putVariant: db.prepare(upsert(schema.variants, ['variantId'])),
    product: db.prepare<[string], ProductRow>(`${selectFrom(schema.products)} WHERE product_id = ?`),
    putProduct: db.prepare(upsert(schema.products, ['productId'])),
    detail: text('SELECT detail_json FROM product_details WHERE product_id = ?'),
    putDetail: db.prepare(upsert(schema.productDetails, ['productId'])),
    obligation: db.prepare<[string], ObligationRow>(`${selectFrom(schema.obligations)} WHERE product_id = ?`),
    putObligation: db.prepare(upsert(schema.obligations, ['productId'])),
    deleteObligation: db.prepare('DELETE FROM obligations WHERE product_id = ?'),
    gapsOf: db.prepare<[string], Gap>(
      `${selectFrom(schema.gaps)} WHERE variant_id = ? ORDER BY warehouse_id, opened_seq`,
    ),
    putGap: db.prepare(upsert(schema.gaps, ['variantId', 'warehouseId', 'openedSeq'])),
    deleteGap: db.prepare('DELETE FROM gaps WHERE variant_id = ? AND warehouse_id = ? AND opened_seq = ?'),
    appendChange: db.prepare(insertInto(schema.changes)),
    quarantine: db.prepare(insertInto(schema.quarantine, ['id'])),
    // SQLite keeps the columns beside a lone max() from the row that has it: the latest change of each product.
    recentProducts: db.prepare<[number], LastRead>(
      `SELECT product_id AS productId, read_seq AS readSeq, read_at_ms AS readAtMs FROM (
         SELECT p.product_id, p.read_seq, p.read_at_ms, max(c.seq) AS seq
         FROM (SELECT seq, variant_id FROM changes ORDER BY seq DESC LIMIT ${RECENT_CHANGES}) c
         JOIN variants v ON v.variant_id = c.variant_id
         JOIN products p ON p.product_id = v.product_id AND p.gone_at_ms IS NULL
         GROUP BY v.product_id
       ) ORDER BY seq DESC LIMIT ?`,
    ),
    oldestProducts: db.prepare<[number], LastRead>(
      `SELECT product_id AS productId, read_seq AS readSeq, read_at_ms AS readAtMs FROM products
       WHERE gone_at_ms IS NULL ORDER BY read_at_ms, product_id LIMIT ?`,
    ),
    bundleProducts: text(
      'SELECT product_id FROM products WHERE has_bundle = 1 AND gone_at_ms IS NULL ORDER BY product_id',
    ),
    bundleCount: count('SELECT count(*) FROM products WHERE has_bundle = 1 AND gone_at_ms IS NULL'),
    heldProducts: text('SELECT product_id FROM obligations WHERE not_before_ms = ? ORDER BY product_id'),
    liveCount: count('SELECT count(*) FROM products WHERE gone_at_ms IS NULL'),
    missingCount: count(
      'SELECT count(*) FROM products WHERE missing_at_ms IS NOT NULL AND gone_at_ms IS NULL',
    ),
  };
}

export class SqliteTables implements Tables {
  readonly #sql: ReturnType<typeof prepare>;
  #state: MirrorState;
  #stateIsWritten = true;
  #bundleCount: number | null = null;

  constructor(db: Db) {
    this.#sql = prepare(db);
    this.#state = this.#readState();
  }

  /** Writes what is kept in memory during a transaction; call before its commit. */
  flush(): void {
    if (this.#stateIsWritten) return;
    this.#sql.putState.run({ ...this.#state, id: 1 });
    this.#stateIsWritten = true;
  }

  /** Forgets what is kept in memory; call after a rollback. */
  reload(): void {
    this.#state = this.#readState();
    this.#stateIsWritten = true;
    this.#bundleCount = null;
  }

  #readState(): MirrorState {
    const row = this.#sql.state.get();
    if (row === undefined)
      throw new Error('mirror_state has no row: the database was changed by another program');
    return row;
  }

  state(): MirrorState {
    return this.#state;
  }
  putState(state: MirrorState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#stateIsWritten = false;
  }

  cell(variantId: string, warehouseId: string): Cell | undefined {
    return this.#sql.cell.get(variantId, warehouseId);
  }
  cellsOf(variantId: string): Cell[] {
    return this.#sql.cellsOf.all(variantId);
  }
  putCell(cell: Cell): void {
    this.#sql.putCell.run(cell);
  }

  variant(variantId: string): Variant | undefined {
    const row = this.#sql.variant.get(variantId);
    return row === undefined ? undefined : variantOf(row);
  }
  variantsOf(productId: string): Variant[] {
    return this.#sql.variantsOf.all(productId).map(variantOf);
  }
  putVariant(variant: Variant): void {
    this.#sql.putVariant.run({ ...variant, allowNegativeStock: variant.allowNegativeStock ? 1 : 0 });
  }

  product(productId: string): Product | undefined {
    const row = this.#sql.product.get(productId);
    if (row === undefined) return undefined;
    const detailJson = this.#sql.detail.get(productId) ?? null;
    return { ...row, hasBundle: row.hasBundle === 1, detailJson };
  }
  putProduct(product: Product): void {
    const { detailJson, ...row } = product;
    this.#sql.putProduct.run({ ...row, hasBundle: product.hasBundle ? 1 : 0 });
    if (detailJson !== null && detailJson !== this.#sql.detail.get(product.productId)) {
      this.#sql.putDetail.run({ productId: product.productId, detailJson });
    }
    this.#bundleCount = null;
  }

  obligation(productId: string): Obligation | undefined {
    const row = this.#sql.obligation.get(productId);
    return row === undefined ? undefined : { ...row, doubt: row.doubt === 1 };
  }
  putObligation(obligation: Obligation): void {
    this.#sql.putObligation.run({ ...obligation, doubt: obligation.doubt ? 1 : 0 });
  }
  deleteObligation(productId: string): void {
    this.#sql.deleteObligation.run(productId);
  }

  gapsOf(variantId: string): Gap[] {
    return this.#sql.gapsOf.all(variantId);
  }
  putGap(gap: Gap): void {
    this.#sql.putGap.run(gap);
  }
  deleteGap(gap: Gap): void {
    this.#sql.deleteGap.run(gap.variantId, gap.warehouseId, gap.openedSeq);
  }

  appendChange(change: Change): void {
    this.#sql.appendChange.run(change);
  }
  quarantine(logSeq: number, unreadable: Unreadable): void {
    this.#sql.quarantine.run({ logSeq, ...unreadable });
  }

  canaryProducts(limit: number): LastRead[] {
    const found = new Map(this.#sql.recentProducts.all(limit).map((read) => [read.productId, read]));
    if (found.size < limit) {
      for (const read of this.#sql.oldestProducts.all(limit)) {
        if (found.size < limit && !found.has(read.productId)) found.set(read.productId, read);
      }
    }
    return [...found.values()];
  }
  bundleProducts(): string[] {
    return this.#sql.bundleProducts.all();
  }
  bundleProductCount(): number {
    this.#bundleCount ??= this.#sql.bundleCount.get() ?? 0;
    return this.#bundleCount;
  }
  heldProducts(): string[] {
    return this.#sql.heldProducts.all(LATEST_MS);
  }
  liveProductCount(): number {
    return this.#sql.liveCount.get() ?? 0;
  }
  missingProductCount(): number {
    return this.#sql.missingCount.get() ?? 0;
  }
}
