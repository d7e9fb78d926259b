/**
 * drizzle, loaded as CommonJS, because its ES modules import each other in circles: run from source, a thread
 * needs 0.5 s of processor time and 85 MB to link them, instead of 0.07 s and 13 MB. In dist/, without what
 * is not used, it takes 0.01 s and 3 MB of the main thread; the other threads do without.
 */
import { createRequire } from 'node:module';
import type * as Drizzle from 'drizzle-orm';
import type * as Core from 'drizzle-orm/sqlite-core';

export const {
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  getViewSelectedFields,
  gt,
  gte,
  inArray,
  is,
  isNotNull,
  isNull,
  lt,
  lte,
  max,
  min,
  ne,
  not,
  notInArray,
  or,
  Placeholder,
  sql,
} = createRequire(import.meta.url)('drizzle-orm') as typeof Drizzle;

export const {
  blob,
  check,
  index,
  integer,
  // Only its form for columns alone is deprecated.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  primaryKey,
  QueryBuilder,
  SQLiteSyncDialect,
  sqliteTable,
  sqliteView,
  text,
} = createRequire(import.meta.url)('drizzle-orm/sqlite-core') as typeof Core;
