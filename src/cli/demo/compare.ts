/** Compares the mirror's public views with the simulated store, figure by figure. */
import { openReader } from '../../sqlite/open.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';

export interface Comparison {
  /** The stock levels, totals and products compared. */
  readonly levels: number;
  readonly totals: number;
  readonly products: number;
  /** Of the levels compared, those that the mirror does not mark as suspect. */
  readonly certain: number;
  /** Levels of pulled variants that only webhooks show: none has named them yet, or the last one did not arrive. */
  readonly untold: number;
  /** Stock levels that differ. */
  readonly wrong: number;
  /** All differences, in words. */
  readonly differences: readonly string[];
}

interface StockRow {
  readonly variant_id: string;
  readonly warehouse_id: string;
  readonly product_id: string | null;
  readonly sku: string | null;
  readonly available_qty: number;
  readonly suspect: number;
}

interface VariantRow {
  readonly variant_id: string;
  readonly product_id: string;
  readonly kind: string;
  readonly available_qty: number;
}

interface ProductRow {
  readonly product_id: string;
  readonly name: string;
}

/** The figures of one side, by id. */
type Figures = Map<string, string>;

/** Variants with a webhook that did not arrive. For the warehouses of a pulled one, no read can replace it. */
export function missedVariants({ records }: Pick<Sandbox['deliveries'], 'records'>): Set<string> {
  const missed = records.filter(({ outcome, status }) => outcome !== 'answered' || status !== 204);
  return new Set(missed.flatMap(({ delivery }) => delivery.items.map((item) => item.id)));
}

/** Variants whose warehouses no read shows, so that nothing can replace a webhook about them. */
export function pulledVariants(truth: Pick<Sandbox['truth'], 'snapshot'>): Set<string> {
  return new Set(
    truth
      .snapshot()
      .levels.filter(({ kind }) => kind === 'pulled')
      .map(({ variantId }) => variantId),
  );
}

/**
 * Reads the database as an ERP would: read-only, all views in one snapshot.
 * @param missed whose pulled levels are left out: see `missedVariants`, `pulledVariants`.
 */
export function compareWithTruth(
  databasePath: string,
  truth: Pick<Sandbox['truth'], 'snapshot'>,
  missed: ReadonlySet<string> = new Set(),
): Comparison {
  const db = openReader(databasePath);
  try {
    const read = db.transaction(() => ({
      levels: db.prepare<[], StockRow>('SELECT * FROM mirror_stock').all(),
      variants: db.prepare<[], VariantRow>('SELECT * FROM mirror_variants').all(),
      products: db.prepare<[], ProductRow>('SELECT * FROM mirror_products').all(),
    }));
    const mirror = read();
    return compare(mirror, truth.snapshot(), missed);
  } finally {
    db.close();
  }
}

function compare(
  mirror: { readonly levels: StockRow[]; readonly variants: VariantRow[]; readonly products: ProductRow[] },
  truth: ReturnType<Sandbox['truth']['snapshot']>,
  missed: ReadonlySet<string>,
): Comparison {
  const held: Figures = new Map();
  const suspects = new Set<string>();
  for (const row of mirror.levels) {
    const key = `${row.variant_id}/${row.warehouse_id}`;
    held.set(key, level(row.available_qty, row.product_id, row.sku));
    if (row.suspect === 1) suspects.add(key);
  }
  const levels: Figures = new Map();
  let untold = 0;
  for (const stockLevel of truth.levels) {
    const key = `${stockLevel.variantId}/${stockLevel.warehouseId}`;
    // Two losses may cancel out in the total that reads show: then the row is not even marked suspect.
    const isTold = held.has(key) && !suspects.has(key) && !missed.has(stockLevel.variantId);
    if (stockLevel.kind === 'pulled' && !isTold) {
      held.delete(key);
      untold += 1;
    } else {
      levels.set(key, level(stockLevel.availableQty, stockLevel.productId, stockLevel.sku));
    }
  }
  const wrongLevels = differences('level', levels, held);
  return {
    levels: levels.size,
    wrong: wrongLevels.length,
    certain: [...levels.keys()].filter((key) => held.has(key) && !suspects.has(key)).length,
    totals: truth.variants.length,
    products: truth.products.length,
    untold,
    differences: [
      ...wrongLevels,
      ...differences(
        'total',
        new Map(
          truth.variants.map((own) => [own.variantId, total(own.availableQty, own.kind, own.productId)]),
        ),
        new Map(
          mirror.variants.map((row) => [row.variant_id, total(row.available_qty, row.kind, row.product_id)]),
        ),
      ),
      ...differences(
        'product',
        new Map(truth.products.map((product) => [product.productId, product.name])),
        new Map(mirror.products.map((row) => [row.product_id, row.name])),
      ),
    ],
  };
}

function level(qty: number, productId: string | null, sku: string | null): string {
  return `${qty} (product ${productId ?? 'unknown'}, sku ${sku ?? 'none'})`;
}

function total(qty: number, kind: string, productId: string): string {
  return `${qty} (${kind}, product ${productId})`;
}

function differences(what: string, truth: Figures, mirror: Figures): string[] {
  const lines: string[] = [];
  for (const [id, figures] of truth) {
    const found = mirror.get(id);
    if (found !== figures)
      lines.push(`${what} ${id}: the store has ${figures}, the mirror ${found ?? 'no row'}`);
  }
  for (const [id, figures] of mirror) {
    if (!truth.has(id)) lines.push(`${what} ${id}: the store has none, the mirror ${figures}`);
  }
  return lines;
}
