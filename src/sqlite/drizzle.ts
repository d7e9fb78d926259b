/**
 * drizzle, loaded as CommonJS: its ES modules are hundreds in one ring, which take Node some 0.4 s and 130 MB to link,
 * wherever it is loaded: for the queries in mirror/reader/typed-queries.ts, and by drizzle-kit and the tests.
 */
import { createRequire } from 'node:module';
import type * as Drizzle from 'drizzle-orm';
import type * as Core from 'drizzle-orm/sqlite-core';

const orm = createRequire(import.meta.url)('drizzle-orm') as typeof Drizzle;
const core = createRequire(import.meta.url)('drizzle-orm/sqlite-core') as typeof Core;

export const {
  and,
  asc,
  desc,
  eq,
  exists,
  fillPlaceholders,
  getTableColumns,
  getTableName,
  gt,
  gte,
  inArray,
  lt,
  max,
  min,
  sql,
} = orm;
export const { blob, check, index, integer, QueryBuilder, sqliteTable, text } = core;
// Only its older form is deprecated, the one that takes columns alone.
// eslint-disable-next-line @typescript-eslint/no-deprecated
export const { primaryKey } = core;
