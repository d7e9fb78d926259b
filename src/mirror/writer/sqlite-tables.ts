import type { DeliveryInput, Unreadable } from '../../core/input.ts';
import type {
  StockLevel,
  Change,
  Gap,
  MirrorStateRow,
  ReadRequest,
  Product,
  Variant,
} from '../../core/model.ts';
import { READ_FAILED } from '../../core/reasons.ts';
import type { Tables } from '../../core/apply/tables.ts';
import type { Db } from '../../sqlite/open.ts';
import { onlyRow } from '../../sqlite/prepared.ts';
import { columnsOf, type RowIn } from '../file/statements.ts';
import { RowWriter } from './row-writer.ts';
import { COUNTED, NOT_OF_RULES, prepareTables, type VariantRow } from './table-statements.ts';
import { VariantCache, type Slot } from './variant-cache.ts';

type StateRow = Omit<RowIn<'mirror_state'>, 'id'>;

const stateOf = ({ untoldJson, secretsJson, ...row }: StateRow): MirrorStateRow => ({
  ...row,
  untold: JSON.parse(untoldJson ?? 'null') as MirrorStateRow['untold'],
  secrets: JSON.parse(secretsJson) as MirrorStateRow['secrets'],
});

const stateRowOf = ({ untold, secrets, ...state }: MirrorStateRow): StateRow => ({
  ...state,
  untoldJson: untold === null ? null : JSON.stringify(untold),
  secretsJson: JSON.stringify(secrets),
});

const variantOf = (row: VariantRow): Variant => ({
  ...row,
  allowNegativeStock: row.allowNegativeStock === 1,
});

export class SqliteTables implements Tables {
  readonly #sql: ReturnType<typeof prepareTables>;
  readonly #levels: RowWriter<StockLevel>;
  readonly #variants: RowWriter<Variant>;
  readonly #products: RowWriter<Omit<Product, 'detailJson'>>;
  readonly #changes: RowWriter<Change>;
  #state: MirrorStateRow;
  #stateIsWritten = true;
  #bundleCount: number | null = null;
  readonly #cache = new VariantCache();
  #unwrittenLevels: Slot<StockLevel>[] = [];
  #unwrittenVariants: Slot<Variant>[] = [];
  /** When products were last read or named by a delivery; written to `evidence_at_ms`. */
  #evidence = new Map<string, number>();
  /** The last product looked up, unwritten: a read needs and changes it several times. */
  #product: Slot<Product> | null = null;

  constructor(db: Db) {
    this.#sql = prepareTables(db);
    this.#levels = new RowWriter<StockLevel>(db, 'stock_levels', columnsOf(db, 'stock_levels'), [
      'variantId',
      'warehouseId',
    ]);
    this.#variants = new RowWriter<Variant>(db, 'variants', columnsOf(db, 'variants', COUNTED), [
      'variantId',
    ]);
    this.#products = new RowWriter<Omit<Product, 'detailJson'>>(
      db,
      'products',
      columnsOf(db, 'products', NOT_OF_RULES),
      ['productId'],
    );
    this.#changes = new RowWriter<Change>(db, 'changes', columnsOf(db, 'changes'), ['seq']);
    this.#state = stateOf(onlyRow(this.#sql.state));
  }

  /** Writes the rows that a transaction keeps in memory; call before its commit. */
  flush(): void {
    this.#writeAll();
    this.#cache.trim();
    if (!this.#stateIsWritten) this.#sql.putState.run({ ...stateRowOf(this.#state), id: 1 });
    this.#stateIsWritten = true;
    for (const [productId, atMs] of this.#evidence) this.#sql.noteEvidence.run({ productId, atMs });
    this.#evidence.clear();
  }

  reload(): void {
    this.#unwrittenLevels = [];
    this.#unwrittenVariants = [];
    this.#evidence.clear();
    this.#cache.clear();
    this.#product = null;
    this.#state = stateOf(onlyRow(this.#sql.state));
    this.#stateIsWritten = true;
    this.#bundleCount = null;
  }

  #writeAll(): void {
    // Variants first: a trigger counts their levels.
    write(this.#unwrittenVariants, this.#variants);
    write(this.#unwrittenLevels, this.#levels);
    this.#writeProduct();
  }

  state(): MirrorStateRow {
    return this.#state;
  }

  putState(state: MirrorStateRow): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#stateIsWritten = false;
  }

  stockLevel(variantId: string, warehouseId: string): StockLevel | undefined {
    return this.#levelSlot(variantId, warehouseId).row;
  }

  #levelSlot(variantId: string, warehouseId: string): Slot<StockLevel> {
    const { levels, hasAllLevels } = this.#cache.of(variantId);
    let slot = levels.get(warehouseId);
    if (slot === undefined) {
      const row = hasAllLevels ? undefined : this.#sql.stockLevel.get(variantId, warehouseId);
      slot = { row, stored: row };
      levels.set(warehouseId, slot);
    }
    return slot;
  }

  stockLevelsOf(variantId: string): StockLevel[] {
    const cached = this.#cache.of(variantId);
    if (!cached.hasAllLevels) {
      for (const row of this.#sql.stockLevelsOf.all(variantId)) {
        if (!cached.levels.has(row.warehouseId)) cached.levels.set(row.warehouseId, { row, stored: row });
      }
      cached.hasAllLevels = true;
    }
    return Array.from(cached.levels.values(), ({ row }) => row)
      .filter((row) => row !== undefined)
      .sort((a, b) => (a.warehouseId < b.warehouseId ? -1 : 1));
  }

  putStockLevel(level: StockLevel): void {
    const slot = this.#levelSlot(level.variantId, level.warehouseId);
    if (slot.row === slot.stored) this.#unwrittenLevels.push(slot);
    slot.row = level;
  }

  variant(variantId: string): Variant | undefined {
    return this.#variantSlot(variantId).row;
  }

  #variantSlot(variantId: string): Slot<Variant> {
    const cached = this.#cache.of(variantId);
    if (!cached.isKnown) {
      const row = this.#sql.variant.get(variantId);
      cached.slot.row = row === undefined ? undefined : variantOf(row);
      cached.slot.stored = cached.slot.row;
      cached.isKnown = true;
    }
    return cached.slot;
  }

  variantsOf(productId: string): Variant[] {
    // The statement sees only written rows.
    write(this.#unwrittenVariants, this.#variants);
    return this.#sql.variantsOf.all(productId).map(variantOf);
  }

  putVariant(variant: Variant): void {
    const slot = this.#variantSlot(variant.variantId);
    if (slot.row === slot.stored) this.#unwrittenVariants.push(slot);
    if (variant.productId !== null && variant.eventAtMs !== slot.row?.eventAtMs) {
      this.#noteEvidence(variant.productId, variant.eventAtMs);
    }
    slot.row = variant;
  }

  product(productId: string): Product | undefined {
    return this.#productSlot(productId).row;
  }

  #productSlot(productId: string): Slot<Product> {
    if (this.#product?.row?.productId === productId) return this.#product;
    this.#writeProduct();
    const found = this.#sql.product.get(productId);
    const row =
      found === undefined
        ? undefined
        : {
            ...found,
            hasBundle: found.hasBundle === 1,
            detailJson: this.#sql.detail.get(productId) ?? null,
          };
    this.#product = { row, stored: row };
    return this.#product;
  }

  putProduct(product: Product): void {
    const slot = this.#productSlot(product.productId);
    const before = slot.row;
    if (product.readAtMs !== before?.readAtMs) this.#noteEvidence(product.productId, product.readAtMs);
    if (before?.hasBundle !== product.hasBundle || before.goneAtMs !== product.goneAtMs) {
      this.#bundleCount = null;
    }
    // A product once read keeps its detail.
    slot.row = { ...product, detailJson: product.detailJson ?? before?.detailJson ?? null };
  }

  #writeProduct(): void {
    const slot = this.#product;
    if (slot === null || slot.row === undefined || slot.row === slot.stored) return;
    const { detailJson, ...row } = slot.row;
    if (slot.stored === undefined) this.#products.insert(row);
    else this.#products.update(slot.stored, row);
    if (detailJson !== null && detailJson !== slot.stored?.detailJson) {
      this.#sql.putDetail.run({ productId: row.productId, detailJson });
    }
    slot.stored = slot.row;
  }

  #noteEvidence(productId: string, atMs: number): void {
    this.#evidence.set(productId, Math.max(atMs, this.#evidence.get(productId) ?? atMs));
  }

  readRequest(productId: string): ReadRequest | undefined {
    const row = this.#sql.readRequest.get(productId);
    if (row === undefined) return undefined;
    const { reason, isSuspect } = row;
    return reason === READ_FAILED ? undefined : { ...row, reason, isSuspect: isSuspect === 1 };
  }

  putReadRequest(readRequest: ReadRequest): void {
    this.#sql.putReadRequest.run({ ...readRequest, isSuspect: readRequest.isSuspect ? 1 : 0 });
  }

  deleteReadRequest(productId: string): void {
    this.#sql.deleteReadRequest.run(productId);
  }

  gapsOf(variantId: string): Gap[] {
    const cached = this.#cache.of(variantId);
    cached.gaps ??= this.#sql.gapsOf.all(variantId);
    return [...cached.gaps];
  }

  putGap(gap: Gap): void {
    this.#sql.putGap.run(gap);
    this.#cache.of(gap.variantId).gaps = null;
  }

  deleteGap(gap: Gap): void {
    this.#sql.deleteGap.run(gap.variantId, gap.warehouseId, gap.inboxSeq, gap.kind);
    this.#cache.of(gap.variantId).gaps = null;
  }

  appendChange(change: Change): void {
    this.#changes.insert(change);
  }

  putDeadLetter({ inboxSeq, atMs }: DeliveryInput, unreadable: Unreadable): void {
    this.#sql.putDeadLetter.run({ inboxSeq, arrivedAtMs: atMs, ...unreadable });
  }

  bundleProducts(): string[] {
    this.#writeProduct();
    return this.#sql.bundleProducts.all();
  }

  bundleProductCount(): number {
    if (this.#bundleCount === null) {
      this.#writeProduct();
      this.#bundleCount = this.#sql.bundleCount.get(-1) ?? 0;
    }
    return this.#bundleCount;
  }

  heldProducts(): string[] {
    return this.#sql.heldProducts.all();
  }

  missingProducts(): { readonly productId: string; readonly missingAtMs: number }[] {
    this.#writeProduct();
    return this.#sql.missingProducts.all();
  }

  quantityCount(): number {
    this.#writeAll();
    return this.#sql.quantityCount.get() ?? 0;
  }

  missingQuantities(atMost: number): number {
    // The statement sees only written rows.
    this.#writeAll();
    return Math.min(atMost, this.#sql.missingQuantities.get(atMost) ?? 0);
  }
}

function write<Row extends object>(unwritten: Slot<Row>[], writer: RowWriter<Row>): void {
  for (const slot of unwritten.splice(0)) {
    if (slot.row === undefined) continue;
    if (slot.stored === undefined) writer.insert(slot.row);
    else writer.update(slot.stored, slot.row);
    slot.stored = slot.row;
  }
}
