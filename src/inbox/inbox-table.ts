/** The table of inbox-file.ts as the mirror's queries see it; a test compares the two. */
import { blob, integer, sqliteTable, text } from '../sqlite/drizzle.ts';
import type { InboxRowKind } from './inbox-file.ts';

export const inbox = sqliteTable('inbox', {
  seq: integer('seq').primaryKey(),
  kind: text('kind').$type<InboxRowKind>().notNull(),
  arrivedAtMs: integer('arrived_at_ms').notNull(),
  bodyHash: blob('body_hash', { mode: 'buffer' }),
  fromStream: integer('from_stream').notNull().default(0),
  body: blob('body', { mode: 'buffer' }).notNull(),
});
