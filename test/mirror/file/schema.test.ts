/** The rows of the tables, whose types follow from the schema. */
import { getTableColumns, getTableName, is } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { expect, test } from 'vitest';
import * as schema from '../../../src/mirror/file/schema.ts';
import { columnsOf, type TableName } from '../../../src/mirror/file/statements.ts';
import { rows, writerDb } from '../mirror-file.ts';

test.each(tables())('the rows of %s have the names and types of the schema', (name, table) => {
  const db = writerDb();
  const stored = Object.entries(getTableColumns(table)).filter(
    ([, column]) => column.generated === undefined,
  );
  expect(columnsOf(db, name)).toEqual(
    Object.fromEntries(stored.map(([property, column]) => [property, column.name])),
  );
  const found = rows(db, 'SELECT name, lower(type) AS type, "notnull" FROM pragma_table_info(?)', name);
  expect(new Set(found)).toEqual(
    new Set(
      stored.map(([, column]) => ({
        name: column.name,
        type: column.getSQLType(),
        notnull: column.notNull ? 1 : 0,
      })),
    ),
  );
});

function tables(): [TableName, SQLiteTable][] {
  const found = Object.values(schema).filter((each) => is(each, SQLiteTable));
  return found.map((table) => [getTableName(table), table]);
}
