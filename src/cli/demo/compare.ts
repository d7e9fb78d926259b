import { openReader } from '../../sqlite/open.ts';
import { prepareRows, type Columns } from '../../sqlite/prepared.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';

type Truth = Pick<Sandbox['truth'], 'snapshot'>;

export interface Comparison {
  readonly values: number;
  /** Values that the mirror has and does not mark as suspect. */
  readonly certain: number;
  /** Levels that only webhooks report, where one may be missing. */
  readonly leftOut: number;
  readonly differences: readonly string[];
}

interface Row {
  readonly id: string;
  readonly value: string;
  readonly suspect: number;
}

const LEVEL: Columns<Row> = {
  id: `'level ' || variant_id || '/' || warehouse_id`,
  suspect: 'suspect',
  value: `available_qty || ' (product ' || coalesce(product_id, 'unknown') || ', sku ' || coalesce(sku, 'none') || ')'`,
};

/** Reads the database as an ERP would, in one statement. @param missed variants whose pulled levels are left out. */
export function compareWithTruth(
  databasePath: string,
  truth: Truth,
  missed: ReadonlySet<string> = new Set(),
): Comparison {
  const db = openReader(databasePath);
  let rows;
  try {
    rows = prepareRows<[], Row>(
      db,
      LEVEL,
      (columns) => `
        SELECT ${columns}
        FROM mirror_stock
        UNION ALL
        SELECT 'total ' || variant_id, suspect, available_qty || ' (' || kind || ', product ' || product_id || ')'
        FROM mirror_variants
        UNION ALL
        SELECT 'product ' || product_id, 0, name
        FROM mirror_products`,
    ).all();
  } finally {
    db.close();
  }
  const held = new Map(rows.map((row) => [row.id, row]));
  const { levels, variants, products } = truth.snapshot();
  const real = new Map<string, string>();
  let leftOut = 0;
  for (const { variantId, warehouseId, availableQty, productId, sku, kind } of levels) {
    const id = `level ${variantId}/${warehouseId}`;
    // Two losses may cancel out in the total that reads show, and leave the row unsuspected.
    if (kind === 'pulled' && (held.get(id)?.suspect !== 0 || missed.has(variantId))) {
      held.delete(id);
      leftOut += 1;
    } else real.set(id, `${availableQty} (product ${productId}, sku ${sku ?? 'none'})`);
  }
  for (const { variantId, availableQty, kind, productId } of variants) {
    real.set(`total ${variantId}`, `${availableQty} (${kind}, product ${productId})`);
  }
  for (const { productId, name } of products) real.set(`product ${productId}`, name);
  const ids = [...new Set([...real.keys(), ...held.keys()])];
  return {
    values: real.size,
    certain: [...real.keys()].filter((id) => held.get(id)?.suspect === 0).length,
    leftOut,
    differences: ids
      .filter((id) => real.get(id) !== held.get(id)?.value)
      .map(
        (id) =>
          `${id}: the store has ${real.get(id) ?? 'none'}, the mirror ${held.get(id)?.value ?? 'no row'}`,
      ),
  };
}
