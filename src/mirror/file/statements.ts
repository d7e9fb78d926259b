/** SQL made from the schema's columns, so that a column is named once. The hot path prepares it itself. */
import type { TableColumns } from './columns.ts';

/** `col AS name, …`: rows come back with the schema's property names. */
export function selectList(table: TableColumns): string {
  return Object.entries(table.columns)
    .map(([name, column]) => `"${column}" AS "${name}"`)
    .join(', ');
}

export function selectFrom(table: TableColumns): string {
  return `SELECT ${selectList(table)} FROM "${table.name}"`;
}

/** Insert with named parameters, or overwrite the row of the same key. */
export function upsert(table: TableColumns, key: readonly string[]): string {
  const columns = Object.entries(table.columns);
  const names = columns.map(([, column]) => `"${column}"`).join(', ');
  const values = columns.map(([name]) => `@${name}`).join(', ');
  const keyColumns = columns.filter(([name]) => key.includes(name)).map(([, column]) => `"${column}"`);
  const updates = columns
    .filter(([name]) => !key.includes(name))
    .map(([, column]) => `"${column}" = excluded."${column}"`)
    .join(', ');
  return (
    `INSERT INTO "${table.name}" (${names}) VALUES (${values}) ` +
    `ON CONFLICT (${keyColumns.join(', ')}) DO UPDATE SET ${updates}`
  );
}

/** Plain insert with named parameters. */
export function insertInto(table: TableColumns, without: readonly string[] = []): string {
  const columns = Object.entries(table.columns).filter(([name]) => !without.includes(name));
  const names = columns.map(([, column]) => `"${column}"`).join(', ');
  const values = columns.map(([name]) => `@${name}`).join(', ');
  return `INSERT INTO "${table.name}" (${names}) VALUES (${values})`;
}
