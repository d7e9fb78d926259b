/** Compares one product in the store with the mirror. */
import type { ProductSnapshot } from '../../core/input.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepareRows } from '../../sqlite/prepared.ts';

interface Value {
  readonly what: 'product' | 'total' | 'level';
  readonly variant_id: string | null;
  readonly warehouse_id: string | null;
  /** null for a product: only its presence is compared. */
  readonly qty: number | null;
}

/** A value in the mirror. A product has only `is_settling`. */
export interface Row extends Value {
  /** 1: a component of the bundle has changed, and the mirror reads the bundle within minutes. */
  readonly is_settling: number;
  readonly sku: string | null;
  readonly change_seq: number | null;
  readonly suspect: number | null;
  readonly as_of: number | null;
  readonly verified_at: number | null;
}

export type Rows = ReadonlyMap<string, Row>;

/** The rows of the mirror before and after the store's answer. */
export interface ProductReading {
  readonly before: Rows;
  /** null if the store does not have the product. */
  readonly answer: ProductSnapshot | null;
  readonly after: Rows;
}

export type DifferingValue = ReturnType<typeof differingValueOf>;

export interface Difference {
  readonly key: string;
  readonly value: DifferingValue;
  /** Equal for two checks if neither side changed between them; null if the mirror changed during this one. */
  readonly fingerprint: string | null;
}

const PRODUCT: Value = { what: 'product', variant_id: null, warehouse_id: null, qty: null };
const PRODUCT_KEY = keyOf(PRODUCT);

export function keyOf({ what, variant_id, warehouse_id }: Value): string {
  return `${what} ${variant_id}/${warehouse_id}`;
}

function byKey<T extends Value>(values: readonly T[]): Map<string, T> {
  return new Map(values.map((value) => [keyOf(value), value]));
}

export function rowsIn(db: Db): (productId: string) => Rows {
  const rows = prepareRows<[{ readonly id: string }], Row>(
    db,
    {
      what: `'product'`,
      variant_id: 'NULL',
      warehouse_id: 'NULL',
      qty: 'NULL',
      is_settling: '0',
      sku: 'NULL',
      change_seq: 'NULL',
      suspect: 'NULL',
      as_of: 'NULL',
      verified_at: 'NULL',
    },
    (columns) => `
      SELECT ${columns}
      FROM mirror_products WHERE product_id = @id
      UNION ALL
      SELECT 'total', variant_id, NULL, available_qty,
        kind = 'bundle' AND (SELECT bundles_due_at_ms FROM mirror_state) IS NOT NULL,
        sku, change_seq, suspect, as_of, verified_at
      FROM mirror_variants WHERE product_id = @id
      UNION ALL
      SELECT 'level', variant_id, warehouse_id, available_qty, 0, sku, change_seq, suspect, as_of, verified_at
      FROM mirror_stock WHERE product_id = @id`,
  );
  return (id) => byKey(rows.all({ id }));
}

/** A value is equal if the mirror had the store's quantity before the request or after the answer. */
export function compare(productId: string, { before, answer, after }: ProductReading) {
  const service = byKey(answer === null ? [] : valuesOf(answer));
  // Omitted levels are unknown, not absent.
  const shown = new Set(answer?.variants.flatMap((each) => (each.levels === null ? [] : [each.variantId])));
  const isOnBoth = service.has(PRODUCT_KEY) && after.has(PRODUCT_KEY);
  // A missing product or variant is one difference, not one for each warehouse.
  const isCompared = ({ what, variant_id: id }: Value): boolean => {
    if (!isOnBoth || what !== 'level' || id === null) return isOnBoth || what === 'product';
    const key = keyOf(totalOf(id, null));
    return shown.has(id) && (before.has(key) || after.has(key));
  };
  const values = byKey<Value>([...service.values(), ...before.values(), ...after.values()]);
  const compared = [...values].filter(([, value]) => isCompared(value));
  const differences: Difference[] = [];
  for (const [key, value] of compared) {
    const [first, row, qty] = [before.get(key), after.get(key), service.get(key)?.qty];
    if (qty === first?.qty || qty === row?.qty) continue;
    const isStill = first?.change_seq === row?.change_seq && row?.is_settling !== 1;
    const fingerprint = isStill ? JSON.stringify([key, qty, row?.change_seq]) : null;
    differences.push({ key, fingerprint, value: differingValueOf(productId, value, row, qty) });
  }
  const count = (what: string): number => compared.filter(([, value]) => value.what === what).length;
  return { totals: count('total'), levels: count('level'), differences };
}

function totalOf(variantId: string, qty: number | null): Value {
  return { what: 'total', variant_id: variantId, warehouse_id: null, qty };
}

function valuesOf({ variants }: ProductSnapshot): Value[] {
  const values = [PRODUCT];
  for (const { variantId, availableQty, levels } of variants) {
    values.push(totalOf(variantId, availableQty));
    for (const { warehouseId, availableQty: qty } of levels ?? []) {
      values.push({ what: 'level', variant_id: variantId, warehouse_id: warehouseId, qty });
    }
  }
  return values;
}

function differingValueOf(
  productId: string,
  value: Value,
  row: Row | undefined,
  service: number | null | undefined,
) {
  const { what, variant_id, warehouse_id } = value;
  return {
    what,
    product_id: productId,
    variant_id,
    warehouse_id,
    sku: row?.sku ?? null,
    mirror: row?.qty ?? null,
    service: service ?? null,
    only_in: row === undefined ? 'service' : service === undefined ? 'mirror' : null,
    suspect: typeof row?.suspect === 'number' ? row.suspect === 1 : null,
    as_of: row?.as_of ?? null,
    verified_at: row?.verified_at ?? null,
  };
}
