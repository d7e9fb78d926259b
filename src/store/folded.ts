/** The tables that the rules write: what the event log alone decides, so that two mirrors of one log are equal in them. */
import { createHash } from 'node:crypto';
import type { Db } from './open.ts';

/** Each in an order of its own. */
export const FOLDED = [
  'cells ORDER BY variant_id, warehouse_id',
  'variants ORDER BY variant_id',
  'products ORDER BY product_id',
  'product_details ORDER BY product_id',
  'obligations ORDER BY product_id',
  'gaps ORDER BY variant_id, warehouse_id, opened_seq',
  'changes ORDER BY seq',
  'quarantine ORDER BY id',
  'mirror_state',
] as const;

/** Of each table, by its name: equal when all rows are. */
export function digestsOf(db: Db): Map<string, string> {
  return new Map(FOLDED.map((from) => [from.split(' ', 1)[0] ?? from, digestOf(db, from)]));
}

function digestOf(db: Db, from: string): string {
  const digest = createHash('sha256');
  for (const row of db.prepare<[], unknown[]>(`SELECT * FROM ${from}`).raw().iterate()) {
    digest.update(`${JSON.stringify(row)}\n`);
  }
  return digest.digest('hex');
}
