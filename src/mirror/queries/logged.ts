/** Entries of the event log as lists show them. */
import { eq, sql } from '../../sqlite/drizzle.ts';
import { log } from '../../event-log/schema.ts';
import { select, typed } from '../../sqlite/typed.ts';

export const LOGGED = {
  seq: log.seq,
  kind: log.kind,
  atMs: log.atMs,
  bytes: sql<number>`length(${log.payload})`,
};

export const PAYLOAD = typed(
  select({ payload: log.payload })
    .from(log)
    .where(eq(log.seq, sql.placeholder('seq'))),
);
