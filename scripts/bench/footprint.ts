/** What a database's rows take of its file, with their indexes. */
import Database from 'better-sqlite3';

const TABLES = ['cells', 'variants', 'products', 'product_cells', 'changes', 'log'] as const;
type Table = (typeof TABLES)[number];

export type Footprint = Readonly<Record<Table, { readonly rows: number; readonly bytes: number }>>;

export function footprintOf(path: string): Footprint {
  const db = new Database(path, { readonly: true });
  try {
    const bytes = db
      .prepare<[string], number>(
        `SELECT coalesce(sum(s.pgsize), 0) FROM sqlite_master m JOIN dbstat s ON s.name = m.name AND s.aggregate = TRUE
         WHERE m.tbl_name = ?`,
      )
      .pluck();
    const rows = (table: Table): number =>
      db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get()!;
    const of = (table: Table) => [table, { rows: rows(table), bytes: bytes.get(table) ?? 0 }] as const;
    return Object.fromEntries(TABLES.map(of)) as unknown as Footprint;
  } finally {
    db.close();
  }
}
