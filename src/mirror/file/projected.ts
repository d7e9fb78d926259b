/** What the event log alone decides, so that two mirrors of one log are equal in it. */
import { createHash } from 'node:crypto';
import type { Db } from '../../sqlite/open.ts';

/** The tables that the rules write, each in an order of its own. */
export const PROJECTED = [
  'stock_levels ORDER BY variant_id, warehouse_id',
  'variants ORDER BY variant_id',
  'products ORDER BY product_id',
  'product_details ORDER BY product_id',
  'read_requests ORDER BY product_id',
  'gaps ORDER BY variant_id, warehouse_id, opened_seq',
  'changes ORDER BY seq',
  'dead_letters ORDER BY id',
  'mirror_state',
] as const;

/** What triggers count of them. A product whose levels came and went within one transaction has no row, or a zero. */
const COUNTED = {
  live_counts: 'SELECT * FROM live_counts',
  product_stock_levels: 'SELECT * FROM product_stock_levels WHERE levels <> 0 ORDER BY product_id',
};

/**
 * What entries write beside the rules. Left out is what the process notes for itself: how far a run under way has
 * come, the heartbeat, when failed reads are tried again (`read_failures`); and the epoch, which every start compares
 * with the event log's.
 */
const RECORDED = {
  runs: `SELECT id, kind, state, started_at_ms, finished_at_ms, read_after_ms, product_ids_json, started_seq, error,
      iif(state = 'running', 0, total), iif(state = 'running', 0, done), iif(state = 'running', 0, failed),
      iif(state = 'running', 0, drift)
    FROM runs ORDER BY id`,
  given_up_reads: 'SELECT * FROM given_up_reads ORDER BY product_id',
  service_state: 'SELECT last_full_sync_at_ms, pruned_change_seq FROM service_state',
};

const RULED = Object.fromEntries(
  PROJECTED.map((from) => [from.split(' ', 1)[0] ?? from, `SELECT * FROM ${from}`]),
);

/**
 * Of each table, by its name: equal when all rows are.
 *
 * @param of `ruled` only, where an earlier version began the log, which did not log the records.
 */
export function digestsOf(db: Db, of: 'all' | 'ruled' = 'all'): Map<string, string> {
  const tables = { ...RULED, ...COUNTED, ...(of === 'all' ? RECORDED : {}) };
  return new Map(Object.entries(tables).map(([table, select]) => [table, digestOf(db, select)]));
}

function digestOf(db: Db, select: string): string {
  const digest = createHash('sha256');
  for (const row of db.prepare<[], unknown[]>(select).raw().iterate()) {
    digest.update(`${JSON.stringify(row)}\n`);
  }
  return digest.digest('hex');
}
