/** The inbox as typed queries see it: the query thread has its file attached. Its table is made in inbox.ts. */
import { blob, integer, sqliteTable } from '../sqlite/drizzle.ts';

export const inbox = sqliteTable('inbox', {
  seq: integer('seq').primaryKey(),
  arrivedAtMs: integer('arrived_at_ms').notNull(),
  body: blob('body').$type<Buffer>().notNull(),
});
