import type { Db } from '../../src/sqlite/open.ts';

export const PROJECTED = [
  'stock_levels ORDER BY variant_id, warehouse_id',
  'variants ORDER BY variant_id',
  'products ORDER BY product_id',
  'product_details ORDER BY product_id',
  'due_reads ORDER BY product_id',
  'gaps ORDER BY variant_id, warehouse_id, inbox_seq',
  'changes ORDER BY seq',
  'dead_letters ORDER BY id',
  'mirror_state',
] as const;

export const dump = (db: Db): string =>
  JSON.stringify(
    [...PROJECTED, 'deliveries ORDER BY inbox_seq'].map((from) => db.prepare(`SELECT * FROM ${from}`).all()),
  );
