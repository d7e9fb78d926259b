/** SQL generated from a table's columns, so that only the migration names them. */
import type { Db } from '../../sqlite/open.ts';

/** log2 of the change numbers in one share of the feed's indexes (schema.ts). */
export const SHARE_BITS = 13;

interface Column {
  readonly name: string;
  readonly property: string;
}

export function columnsOf(db: Db, table: string, without: readonly string[] = []): readonly Column[] {
  const columns = db.pragma(`table_info(${table})`) as readonly { readonly name: string }[];
  const property = (name: string) =>
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return columns
    .filter(({ name }) => !without.includes(name))
    .map(({ name }) => ({ name, property: property(name) }));
}

export function selectList(db: Db, table: string, without: readonly string[] = []): string {
  return columnsOf(db, table, without)
    .map(({ name, property }) => `"${name}" AS "${property}"`)
    .join(', ');
}

export function selectFrom(db: Db, table: string, without: readonly string[] = []): string {
  return `SELECT ${selectList(db, table, without)} FROM "${table}"`;
}

export function upsert(
  db: Db,
  table: string,
  key: readonly string[],
  without: readonly string[] = [],
): string {
  const updates = columnsOf(db, table, [...key, ...without]).map(
    ({ name }) => `"${name}" = excluded."${name}"`,
  );
  return `${insertInto(db, table, without)} ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${updates.join(', ')}`;
}

export function insertInto(db: Db, table: string, without: readonly string[] = []): string {
  const columns = columnsOf(db, table, without);
  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  const values = columns.map(({ property }) => `@${property}`).join(', ');
  return `INSERT INTO "${table}" (${names}) VALUES (${values})`;
}
