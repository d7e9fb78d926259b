import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { compareWithTruth } from '../../../src/cli/demo/compare.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { temporaryFolder } from '../harness.ts';

type Truth = ReturnType<Sandbox['truth']['snapshot']>;

const cell = (
  variantId: string,
  warehouseId: string,
  availableQty: number,
  kind: 'own' | 'pulled' = 'own',
) => ({
  ...{ variantId, warehouseId, availableQty, kind },
  ...{ productId: 'p1', sku: null, onHand: availableQty, reservedQty: 0 },
});
const variant = (variantId: string, availableQty: number, kind: 'own' | 'bundle' = 'own') => ({
  ...{ variantId, availableQty, kind },
  productId: 'p1',
});

const TRUTH: Truth = {
  cells: [cell('v1', 'w1', 5), cell('v1', 'w2', 0), cell('v2', 'w1', -2)],
  variants: [variant('v1', 5), variant('v2', -2), variant('v3', 9, 'bundle')],
  products: [{ productId: 'p1', name: 'Desk Lamp' }],
};

/** A database with the public views' columns, that equals the truth until `sql` changes it. */
function differences(sql: string, truth = TRUTH): readonly string[] {
  const path = join(temporaryFolder(), 'mirror.db');
  const db = new Database(path);
  db.exec(`
    CREATE TABLE mirror_stock (variant_id, warehouse_id, available_qty);
    CREATE TABLE mirror_variants (variant_id, available_qty);
    CREATE TABLE mirror_products (product_id);
    INSERT INTO mirror_stock VALUES ('v1', 'w1', 5), ('v1', 'w2', 0), ('v2', 'w1', -2);
    INSERT INTO mirror_variants VALUES ('v1', 5), ('v2', -2), ('v3', 9);
    INSERT INTO mirror_products VALUES ('p1');
    ${sql}`);
  db.close();
  return compareWithTruth(path, { snapshot: () => truth }).differences;
}

test.each<[what: string, sql: string, found: string[]]>([
  ['nothing', '', []],
  [
    'a wrong level',
    `UPDATE mirror_stock SET available_qty = 4 WHERE variant_id = 'v1' AND warehouse_id = 'w1'`,
    ['level v1/w1: the store has 5, the mirror 4'],
  ],
  [
    'a missing level, even of zero',
    `DELETE FROM mirror_stock WHERE warehouse_id = 'w2'`,
    ['level v1/w2: the store has 0, the mirror no row'],
  ],
  [
    'a level too many',
    `INSERT INTO mirror_stock VALUES ('v2', 'w2', 0)`,
    ['level v2/w2: the store has none, the mirror 0'],
  ],
  [
    'a wrong total',
    `UPDATE mirror_variants SET available_qty = 8 WHERE variant_id = 'v3'`,
    ['bundle total v3: the store has 9, the mirror 8'],
  ],
  [
    'a missing total',
    `DELETE FROM mirror_variants WHERE variant_id = 'v1'`,
    ['own total v1: the store has 5, the mirror no row'],
  ],
  [
    'a total too many',
    `INSERT INTO mirror_variants VALUES ('v9', 1)`,
    ['total v9: the store has none, the mirror 1'],
  ],
  ['a missing product', 'DELETE FROM mirror_products', ['product p1 is not in the mirror']],
  ['a product too many', `INSERT INTO mirror_products VALUES ('p2')`, ['product p2 is in the mirror only']],
])('it finds %s', (_, sql, found) => {
  expect(differences(sql)).toEqual(found);
});

test('a pulled variant’s warehouses are not held against the mirror, its total is', () => {
  const truth: Truth = {
    ...TRUTH,
    cells: [...TRUTH.cells, cell('v4', 's1', 7, 'pulled'), cell('v4', 's2', 1, 'pulled')],
    variants: [...TRUTH.variants, variant('v4', 8)],
  };
  const sql = `INSERT INTO mirror_stock VALUES ('v4', 's1', 6); INSERT INTO mirror_variants VALUES ('v4', 7)`;
  expect(differences(sql, truth)).toEqual(['own total v4: the store has 8, the mirror 7']);
});
