/** What the rows of a mirror and its event log take of their files, with their indexes. */
import Database from 'better-sqlite3';
import { eventLogPath } from '../../src/event-log/open-log.ts';

const TABLES = ['stock_levels', 'variants', 'products', 'product_stock_levels', 'changes'] as const;
type Table = (typeof TABLES)[number] | 'log';

export type Footprint = Readonly<Record<Table, { readonly rows: number; readonly bytes: number }>>;

export function footprintOf(path: string): Footprint {
  return Object.fromEntries([
    ...tablesOf(path, TABLES),
    ...tablesOf(eventLogPath(path), ['log']),
  ]) as Footprint;
}

function tablesOf(path: string, tables: readonly Table[]) {
  const db = new Database(path, { readonly: true });
  try {
    const bytes = db
      .prepare<[string], number>(
        `SELECT coalesce(sum(s.pgsize), 0) FROM sqlite_master m JOIN dbstat s ON s.name = m.name AND s.aggregate = TRUE
         WHERE m.tbl_name = ?`,
      )
      .pluck();
    const rows = (table: Table): number =>
      db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
    return tables.map((table) => [table, { rows: rows(table), bytes: bytes.get(table) ?? 0 }] as const);
  } finally {
    db.close();
  }
}
