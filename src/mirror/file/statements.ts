/** SQL made from the columns that a table has, so that the migration alone names them. The hot path prepares it itself. */
import type { Db } from '../../sqlite/open.ts';

/** As a power of two: this many numbers of the feed share a part of its indexes (schema.ts). */
export const SHARE_BITS = 13;

interface Column {
  readonly name: string;
  /** The property of a row that holds it: `stock_id` is `stockId`. */
  readonly property: string;
}

export function columnsOf(db: Db, table: string): readonly Column[] {
  const columns = db.pragma(`table_info(${table})`) as readonly { readonly name: string }[];
  return columns.map(({ name }) => ({
    name,
    property: name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  }));
}

/** `col AS property, …` */
export function selectList(db: Db, table: string, without: readonly string[] = []): string {
  return columnsOf(db, table)
    .filter(({ name }) => !without.includes(name))
    .map(({ name, property }) => `"${name}" AS "${property}"`)
    .join(', ');
}

export function selectFrom(db: Db, table: string, without: readonly string[] = []): string {
  return `SELECT ${selectList(db, table, without)} FROM "${table}"`;
}

/** Insert with named parameters, or overwrite the row of the same key. */
export function upsert(db: Db, table: string, key: readonly string[]): string {
  const updates = columnsOf(db, table)
    .filter(({ name }) => !key.includes(name))
    .map(({ name }) => `"${name}" = excluded."${name}"`);
  return `${insertInto(db, table)} ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${updates.join(', ')}`;
}

/** Plain insert with named parameters. */
export function insertInto(db: Db, table: string, without: readonly string[] = []): string {
  const columns = columnsOf(db, table).filter(({ name }) => !without.includes(name));
  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  const values = columns.map(({ property }) => `@${property}`).join(', ');
  return `INSERT INTO "${table}" (${names}) VALUES (${values})`;
}
