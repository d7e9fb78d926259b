import { openReader } from '../../sqlite/open.ts';
import { prepareRows, type Columns } from '../../sqlite/prepared.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';

type Truth = Pick<Sandbox['truth'], 'snapshot'>;

export interface Comparison {
  readonly values: number;
  /** Rows of `mirror_sellable`. */
  readonly sellable: number;
  /** Of these, those that a program may sell now. */
  readonly trusted: number;
  /** Of these, those whose quantity differs from the store's. */
  readonly trustedWrong: number;
  /** Levels that only webhooks report. */
  readonly leftOut: number;
  readonly differences: readonly string[];
}

interface Row {
  readonly id: string;
  readonly value: string;
}

const LEVEL: Columns<Row> = {
  id: `'level ' || variant_id || '/' || warehouse_id`,
  value: `available_qty || ' (product ' || coalesce(product_id, 'unknown') || ', sku ' || coalesce(sku, 'none') || ')'`,
};

interface SoldRow {
  readonly id: string;
  readonly quantity: number;
  readonly trusted: number;
}

const SOLD: Columns<SoldRow> = {
  id: `coalesce('level ' || variant_id || '/' || warehouse_id, 'total ' || variant_id)`,
  quantity: 'available_qty',
  trusted: 'trusted',
};

function readRows(databasePath: string): {
  readonly rows: readonly Row[];
  readonly sold: readonly SoldRow[];
} {
  const db = openReader(databasePath);
  try {
    const rows = prepareRows<[], Row>(
      db,
      LEVEL,
      (columns) => `
        SELECT ${columns}
        FROM mirror_stock
        UNION ALL
        SELECT 'total ' || variant_id, available_qty || ' (' || kind || ', product ' || product_id || ')'
        FROM mirror_variants
        UNION ALL
        SELECT 'product ' || product_id, name
        FROM mirror_products`,
    );
    const sold = prepareRows<[], SoldRow>(db, SOLD, (columns) => `SELECT ${columns} FROM mirror_sellable`);
    return db.transaction(() => ({ rows: rows.all(), sold: sold.all() }))();
  } finally {
    db.close();
  }
}

/** Reads the database as an ERP would, in one transaction. */
export function compareWithTruth(databasePath: string, truth: Truth): Comparison {
  const { rows, sold } = readRows(databasePath);
  const held = new Map(rows.map((row) => [row.id, row]));
  const { levels, variants, products } = truth.snapshot();
  const real = new Map<string, string>();
  const quantities = new Map<string, number>();
  let leftOut = 0;
  for (const { variantId, warehouseId, availableQty, productId, sku, kind } of levels) {
    const id = `level ${variantId}/${warehouseId}`;
    quantities.set(id, availableQty);
    if (kind === 'pulled') {
      held.delete(id);
      leftOut += 1;
    } else real.set(id, `${availableQty} (product ${productId}, sku ${sku ?? 'none'})`);
  }
  for (const { variantId, availableQty, kind, productId } of variants) {
    quantities.set(`total ${variantId}`, availableQty);
    real.set(`total ${variantId}`, `${availableQty} (${kind}, product ${productId})`);
  }
  for (const { productId, name } of products) real.set(`product ${productId}`, name);
  const trusted = sold.filter((row) => row.trusted === 1);
  const ids = [...new Set([...real.keys(), ...held.keys()])];
  return {
    values: real.size,
    sellable: sold.length,
    trusted: trusted.length,
    trustedWrong: trusted.filter(({ id, quantity }) => quantities.get(id) !== quantity).length,
    leftOut,
    differences: ids
      .filter((id) => real.get(id) !== held.get(id)?.value)
      .map(
        (id) =>
          `${id}: the store has ${real.get(id) ?? 'none'}, the mirror ${held.get(id)?.value ?? 'no row'}`,
      ),
  };
}
