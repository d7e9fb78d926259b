import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { compareWithTruth, type Comparison } from '../../../src/cli/demo/compare.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { temporaryFolder } from '../harness.ts';

type Truth = ReturnType<Sandbox['truth']['snapshot']>;

const stockLevel = (
  variantId: string,
  warehouseId: string,
  availableQty: number,
  kind: 'own' | 'pulled' = 'own',
) => ({
  ...{ variantId, warehouseId, availableQty, kind },
  ...{ productId: 'p1', sku: 'S', onHand: availableQty, reservedQty: 0 },
});
const variant = (variantId: string, availableQty: number, kind: 'own' | 'bundle' = 'own') => ({
  ...{ variantId, availableQty, kind },
  productId: 'p1',
});

const TRUTH: Truth = {
  levels: [stockLevel('v1', 'w1', 5), stockLevel('v1', 'w2', 0), stockLevel('v2', 'w1', -2)],
  variants: [variant('v1', 5), variant('v2', -2), variant('v3', 9, 'bundle')],
  products: [{ productId: 'p1', name: 'Desk Lamp' }],
};

/** A database with the public views' columns, that equals the truth until `sql` changes it. */
function compared(sql: string, truth = TRUTH, missed: readonly string[] = []): Comparison {
  const path = join(temporaryFolder(), 'mirror.db');
  const db = new Database(path);
  db.exec(`
    CREATE TABLE mirror_stock (variant_id, warehouse_id, available_qty,
      suspect DEFAULT 0, product_id DEFAULT 'p1', sku DEFAULT 'S');
    CREATE TABLE mirror_variants (variant_id, available_qty, kind DEFAULT 'own', product_id DEFAULT 'p1');
    CREATE TABLE mirror_products (product_id, name DEFAULT 'Desk Lamp');
    INSERT INTO mirror_stock (variant_id, warehouse_id, available_qty)
      VALUES ('v1', 'w1', 5), ('v1', 'w2', 0), ('v2', 'w1', -2);
    INSERT INTO mirror_variants (variant_id, available_qty, kind)
      VALUES ('v1', 5, 'own'), ('v2', -2, 'own'), ('v3', 9, 'bundle');
    INSERT INTO mirror_products (product_id) VALUES ('p1');
    ${sql}`);
  db.close();
  return compareWithTruth(path, { snapshot: () => truth }, new Set(missed));
}

test.each<[what: string, sql: string, found: string[]]>([
  ['nothing', '', []],
  [
    'a wrong level',
    `UPDATE mirror_stock SET available_qty = 4 WHERE variant_id = 'v1' AND warehouse_id = 'w1'`,
    ['level v1/w1: the store has 5 (product p1, sku S), the mirror 4 (product p1, sku S)'],
  ],
  [
    'a level under the wrong product and sku',
    `UPDATE mirror_stock SET product_id = NULL, sku = NULL WHERE variant_id = 'v2'`,
    ['level v2/w1: the store has -2 (product p1, sku S), the mirror -2 (product unknown, sku none)'],
  ],
  [
    'a missing level, even of zero',
    `DELETE FROM mirror_stock WHERE warehouse_id = 'w2'`,
    ['level v1/w2: the store has 0 (product p1, sku S), the mirror no row'],
  ],
  [
    'a level too many',
    `INSERT INTO mirror_stock (variant_id, warehouse_id, available_qty) VALUES ('v2', 'w2', 0)`,
    ['level v2/w2: the store has none, the mirror 0 (product p1, sku S)'],
  ],
  [
    'a wrong level that is marked suspect: a read can tell it',
    `UPDATE mirror_stock SET available_qty = 4, suspect = 1 WHERE warehouse_id = 'w2'`,
    ['level v1/w2: the store has 0 (product p1, sku S), the mirror 4 (product p1, sku S)'],
  ],
  [
    'a wrong total',
    `UPDATE mirror_variants SET available_qty = 8 WHERE variant_id = 'v3'`,
    ['total v3: the store has 9 (bundle, product p1), the mirror 8 (bundle, product p1)'],
  ],
  [
    'a missing total',
    `DELETE FROM mirror_variants WHERE variant_id = 'v1'`,
    ['total v1: the store has 5 (own, product p1), the mirror no row'],
  ],
  [
    'a total too many',
    `INSERT INTO mirror_variants (variant_id, available_qty) VALUES ('v9', 1)`,
    ['total v9: the store has none, the mirror 1 (own, product p1)'],
  ],
  [
    'a missing product',
    'DELETE FROM mirror_products',
    ['product p1: the store has Desk Lamp, the mirror no row'],
  ],
  [
    'a product too many',
    `INSERT INTO mirror_products VALUES ('p2', 'Mug')`,
    ['product p2: the store has none, the mirror Mug'],
  ],
])('it finds %s', (_, sql, found) => {
  expect(compared(sql).differences).toEqual(found);
});
