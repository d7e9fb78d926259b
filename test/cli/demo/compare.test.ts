import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { judge } from '../../../src/cli/demo.ts';
import { compareWithTruth } from '../../../src/cli/demo/compare.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { temporaryFolder } from '../harness.ts';

type Truth = ReturnType<Sandbox['truth']['snapshot']>;

const stockLevel = (variantId: string, availableQty: number, kind: 'own' | 'pulled') => ({
  variantId,
  availableQty,
  kind,
  warehouseId: 'w1',
  productId: 'p1',
  sku: 'S',
  onHand: availableQty,
  reservedQty: 0,
});

const TRUTH: Truth = {
  levels: [stockLevel('v1', 5, 'own'), stockLevel('v2', -2, 'pulled')],
  variants: [{ variantId: 'v1', availableQty: 5, kind: 'own', productId: 'p1' }],
  products: [{ productId: 'p1', name: 'Desk Lamp' }],
};

/** Compares a database with the public views' columns that equals the truth until `sql` changes it. */
function compared(sql: string) {
  const path = join(temporaryFolder(), 'mirror.db');
  const db = new Database(path);
  db.exec(`
    CREATE TABLE mirror_stock (variant_id, available_qty, warehouse_id DEFAULT 'w1',
      product_id DEFAULT 'p1', sku DEFAULT 'S');
    CREATE TABLE mirror_variants (variant_id, available_qty, kind DEFAULT 'own',
      product_id DEFAULT 'p1');
    CREATE TABLE mirror_sellable (variant_id, available_qty, warehouse_id DEFAULT 'w1', trusted DEFAULT 1);
    CREATE TABLE mirror_products (product_id, name DEFAULT 'Desk Lamp');
    INSERT INTO mirror_stock (variant_id, available_qty) VALUES ('v1', 5), ('v2', -2);
    INSERT INTO mirror_variants (variant_id, available_qty) VALUES ('v1', 5);
    INSERT INTO mirror_sellable (variant_id, available_qty) VALUES ('v1', 5);
    INSERT INTO mirror_sellable VALUES ('v2', -2, NULL, 0);
    INSERT INTO mirror_products (product_id) VALUES ('p1');
    ${sql}`);
  db.close();
  return compareWithTruth(path, { snapshot: () => TRUTH });
}

test.each<[what: string, sql: string, found: string[]]>([
  ['nothing', '', []],
  [
    'a wrong level under the wrong product',
    `UPDATE mirror_stock SET available_qty = 4, product_id = NULL WHERE variant_id = 'v1'`,
    ['level v1/w1: the store has 5 (product p1, sku S), the mirror 4 (product unknown, sku S)'],
  ],
  [
    'a missing level',
    `DELETE FROM mirror_stock WHERE variant_id = 'v1'`,
    ['level v1/w1: the store has 5 (product p1, sku S), the mirror no row'],
  ],
  [
    'a level too many',
    `INSERT INTO mirror_stock (variant_id, available_qty) VALUES ('v3', 0)`,
    ['level v3/w1: the store has none, the mirror 0 (product p1, sku S)'],
  ],
  [
    'a wrong total',
    `UPDATE mirror_variants SET kind = 'bundle'`,
    ['total v1: the store has 5 (own, product p1), the mirror 5 (bundle, product p1)'],
  ],
  [
    'a missing product',
    'DELETE FROM mirror_products',
    ['product p1: the store has Desk Lamp, the mirror no row'],
  ],
])('finds %s', (_, sql, found) => {
  expect(compared(sql).differences).toEqual(found);
});

test('leaves out a pulled level, which only webhooks report', () => {
  const none = { values: 3, leftOut: 1, differences: [] };
  expect(compared(`UPDATE mirror_stock SET available_qty = 7 WHERE variant_id = 'v2'`)).toMatchObject(none);
  expect(compared(`DELETE FROM mirror_stock WHERE variant_id = 'v2'`)).toMatchObject(none);
});

test('counts what can be sold, and what of it is wrong', () => {
  expect(compared('')).toMatchObject({ sellable: 2, trusted: 1, trustedWrong: 0 });
  const wrong = 'UPDATE mirror_sellable SET available_qty = available_qty + 1';
  expect(compared(wrong)).toMatchObject({ sellable: 2, trusted: 1, trustedWrong: 1 });
  const gone = `INSERT INTO mirror_sellable (variant_id, available_qty) VALUES ('v9', 0)`;
  expect(compared(gone)).toMatchObject({ sellable: 3, trusted: 2, trustedWrong: 1 });
});

test('judges a mirror equal only without a difference and at rest', () => {
  const equal = { values: 4, sellable: 2, trusted: 2, trustedWrong: 0, leftOut: 0, differences: [] };
  expect(judge(equal, true).exitCode).toBe(0);
  expect(judge(equal, false).exitCode).toBe(1);
  expect(judge({ ...equal, differences: ['level v1/w1: off'] }, true).exitCode).toBe(1);
});
