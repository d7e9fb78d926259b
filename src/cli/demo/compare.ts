/** The mirror's public views against the simulated store's truth, figure by figure. */
import { openReader } from '../../store/open.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';

export interface Comparison {
  /** Stock levels, totals and products that were compared. */
  readonly levels: number;
  readonly totals: number;
  readonly products: number;
  /** Levels left out: a pulled variant's warehouses, which no read tells, so that a lost webhook there stays lost. */
  readonly untold: number;
  /** What differs, in words. */
  readonly differences: readonly string[];
}

interface CellRow {
  readonly variant_id: string;
  readonly warehouse_id: string;
  readonly available_qty: number;
}

interface VariantRow {
  readonly variant_id: string;
  readonly available_qty: number;
}

/** Reads the database as an ERP would: read-only, through the views alone. */
export function compareWithTruth(
  databasePath: string,
  truth: Pick<Sandbox['truth'], 'snapshot'>,
): Comparison {
  const db = openReader(databasePath);
  try {
    const read = db.transaction(() => ({
      cells: db
        .prepare<[], CellRow>('SELECT variant_id, warehouse_id, available_qty FROM mirror_stock')
        .all(),
      variants: db.prepare<[], VariantRow>('SELECT variant_id, available_qty FROM mirror_variants').all(),
      products: db.prepare<[], string>('SELECT product_id FROM mirror_products').pluck().all(),
    }));
    return compare(read(), truth.snapshot());
  } finally {
    db.close();
  }
}

type Truth = ReturnType<Sandbox['truth']['snapshot']>;

function compare(
  mirror: { readonly cells: CellRow[]; readonly variants: VariantRow[]; readonly products: string[] },
  truth: Truth,
): Comparison {
  const differences: string[] = [];
  const cells = new Map(
    mirror.cells.map((cell) => [`${cell.variant_id}/${cell.warehouse_id}`, cell.available_qty]),
  );
  let untold = 0;
  for (const cell of truth.cells) {
    const key = `${cell.variantId}/${cell.warehouseId}`;
    const held = cells.get(key);
    cells.delete(key);
    if (cell.kind === 'pulled') {
      untold += 1;
      continue;
    }
    if (held !== cell.availableQty) {
      differences.push(`level ${key}: the store has ${cell.availableQty}, the mirror ${held ?? 'no row'}`);
    }
  }
  for (const [key, qty] of cells) differences.push(`level ${key}: the store has none, the mirror ${qty}`);

  const totals = new Map(mirror.variants.map((variant) => [variant.variant_id, variant.available_qty]));
  for (const variant of truth.variants) {
    const held = totals.get(variant.variantId);
    totals.delete(variant.variantId);
    if (held !== variant.availableQty) {
      const what = `${variant.kind} total ${variant.variantId}`;
      differences.push(`${what}: the store has ${variant.availableQty}, the mirror ${held ?? 'no row'}`);
    }
  }
  for (const [id, qty] of totals) differences.push(`total ${id}: the store has none, the mirror ${qty}`);

  const products = new Set(mirror.products);
  for (const product of truth.products) {
    if (!products.delete(product.productId))
      differences.push(`product ${product.productId} is not in the mirror`);
  }
  for (const id of products) differences.push(`product ${id} is in the mirror only`);
  return {
    levels: truth.cells.length - untold,
    totals: truth.variants.length,
    products: truth.products.length,
    untold,
    differences,
  };
}
