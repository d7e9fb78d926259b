/** Rows and statements with all columns of a table. */
import type { Db } from '../../sqlite/open.ts';
import type { Columns } from '../../sqlite/prepared.ts';
import type * as schema from './schema.ts';

type Table = Extract<(typeof schema)[keyof typeof schema], { readonly $inferSelect: object }>;

export type TableName = Table['_']['name'];

type Named<Name extends TableName> = Extract<Table, { readonly _: { readonly name: Name } }>;

type StoredIn<T extends Table> = Pick<T['$inferSelect'], keyof T['$inferInsert'] & keyof T['$inferSelect']>;

/** A row of the table, without generated columns. */
export type RowIn<Name extends TableName> = StoredIn<Named<Name>>;

/** The stored columns of a table, named as in the schema (a test compares them). */
export function columnsOf<Name extends TableName, Without extends keyof RowIn<Name> = never>(
  db: Db,
  table: Name,
  without: readonly Without[] = [],
): Columns<Omit<RowIn<Name>, Without>> {
  const columns = db.pragma(`table_info(${table})`) as readonly { readonly name: string }[];
  const property = (name: string) =>
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const all = columns.map(({ name }) => [property(name), name] as const);
  const left = all.filter(([name]) => !(without as readonly string[]).includes(name));
  return Object.fromEntries(left) as Columns<Omit<RowIn<Name>, Without>>;
}

export function upsert<Name extends TableName>(
  db: Db,
  table: Name,
  key: readonly (keyof RowIn<Name>)[],
  without: readonly (keyof RowIn<Name>)[] = [],
): string {
  const columns: Columns<RowIn<Name>> = columnsOf(db, table);
  const names = key.map((property) => columns[property]).join(', ');
  const updates = Object.values<string>(columnsOf(db, table, [...key, ...without])).map(
    (name) => `${name} = excluded.${name}`,
  );
  return `${insertInto(db, table, without)} ON CONFLICT (${names}) DO UPDATE SET ${updates.join(', ')}`;
}

export function insertInto<Name extends TableName>(
  db: Db,
  table: Name,
  without: readonly (keyof RowIn<Name>)[] = [],
): string {
  const columns = columnsOf(db, table, without);
  const names = Object.values<string>(columns).join(', ');
  const values = Object.keys(columns).map((property) => `@${property}`);
  return `INSERT INTO ${table} (${names}) VALUES (${values.join(', ')})`;
}
