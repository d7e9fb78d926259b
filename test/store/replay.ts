/** The log folded again from its beginning, and the tables as text to compare. */
import { fold } from '../../src/core/fold.ts';
import { decodeEntry, type LogRow } from '../../src/store/log.ts';
import type { Db } from '../../src/store/open.ts';
import { SqliteTables } from '../../src/store/sqlite-tables.ts';

const FOLDED = [
  'cells ORDER BY variant_id, warehouse_id',
  'variants ORDER BY variant_id',
  'products ORDER BY product_id',
  'product_details ORDER BY product_id',
  'obligations ORDER BY product_id',
  'gaps ORDER BY variant_id, warehouse_id, opened_seq',
  'changes ORDER BY seq',
  'quarantine ORDER BY id',
  'mirror_state',
];

/** All that the fold has written. */
export const dump = (db: Db): string =>
  JSON.stringify(FOLDED.map((from) => db.prepare(`SELECT * FROM ${from}`).all()));

/** @param into an empty mirror. @returns it. */
export function replay(from: Db, into: Db): Db {
  const tables = new SqliteTables(into);
  const log = from
    .prepare<[], LogRow>('SELECT seq, kind, at_ms AS atMs, payload FROM log ORDER BY seq')
    .all();
  into.exec('BEGIN');
  for (const row of log) {
    const entry = decodeEntry(row, (productId) => tables.product(productId)?.detailJson ?? null);
    fold(tables, entry, () => undefined);
  }
  tables.flush();
  into.exec('COMMIT');
  return into;
}
