/** SQL made from the drizzle schema, so that a column is named once. The hot path prepares it itself. */
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { getTableColumns, getTableName } from './drizzle.ts';

/** `col AS name, …`: rows come back with the schema's property names. */
export function selectList(table: SQLiteTable): string {
  return Object.entries(getTableColumns(table))
    .map(([name, column]) => `"${column.name}" AS "${name}"`)
    .join(', ');
}

export function selectFrom(table: SQLiteTable): string {
  return `SELECT ${selectList(table)} FROM "${getTableName(table)}"`;
}

/** Insert with named parameters, or overwrite the row of the same key. */
export function upsert(table: SQLiteTable, key: readonly string[]): string {
  const columns = Object.entries(getTableColumns(table));
  const names = columns.map(([, column]) => `"${column.name}"`).join(', ');
  const values = columns.map(([name]) => `@${name}`).join(', ');
  const keyColumns = columns.filter(([name]) => key.includes(name)).map(([, column]) => `"${column.name}"`);
  const updates = columns
    .filter(([name]) => !key.includes(name))
    .map(([, column]) => `"${column.name}" = excluded."${column.name}"`)
    .join(', ');
  return (
    `INSERT INTO "${getTableName(table)}" (${names}) VALUES (${values}) ` +
    `ON CONFLICT (${keyColumns.join(', ')}) DO UPDATE SET ${updates}`
  );
}

/** Plain insert with named parameters. */
export function insertInto(table: SQLiteTable, without: readonly string[] = []): string {
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => !without.includes(name));
  const names = columns.map(([, column]) => `"${column.name}"`).join(', ');
  const values = columns.map(([name]) => `@${name}`).join(', ');
  return `INSERT INTO "${getTableName(table)}" (${names}) VALUES (${values})`;
}
