/** The event log as the typed queries see it: the reader's connection has it attached. Its file is made in open-log.ts. */
import { blob, integer, sqliteTable, text } from '../sqlite/drizzle.ts';

export const log = sqliteTable('log', {
  /** In the order of arrival. */
  seq: integer('seq').primaryKey(),
  /** An entry's kind (core/entry.ts). */
  kind: text('kind').notNull(),
  atMs: integer('at_ms').notNull(),
  /** Deliveries: see body-hash.ts. */
  bodyHash: blob('body_hash'),
  /** Deliveries: the raw bytes. Others: JSON. */
  payload: blob('payload').$type<Buffer>().notNull(),
});
