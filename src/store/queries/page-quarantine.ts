/** Dead letters. Typed by the schema: loaded, and drizzle with it, when a person first asks. */
import { desc, drizzle, eq, lt, sql } from '../drizzle.ts';
import type { Db } from '../open.ts';
import { log, quarantine } from '../schema.ts';

function prepare(db: Db) {
  return drizzle(db)
    .select({
      id: quarantine.id,
      logSeq: quarantine.logSeq,
      /** When the delivery came; null: it is pruned. */
      atMs: log.atMs,
      /** Null: the body as a whole. */
      itemIndex: quarantine.itemIndex,
      problem: quarantine.problem,
      variantId: quarantine.variantId,
    })
    .from(quarantine)
    .leftJoin(log, eq(log.seq, quarantine.logSeq))
    .where(lt(quarantine.id, sql.placeholder('beforeId')))
    .orderBy(desc(quarantine.id))
    .limit(sql.placeholder('limit'))
    .prepare();
}

type Statement = ReturnType<typeof prepare>;
export type Quarantined = ReturnType<Statement['all']>[number];

const byConnection = new WeakMap<Db, Statement>();

/** Dead letters, newest first. @param args.beforeId null: from the newest. */
export function quarantinedItems(
  db: Db,
  args: { readonly beforeId: number | null; readonly limit: number },
): { readonly items: readonly Quarantined[]; readonly hasMore: boolean } {
  let statement = byConnection.get(db);
  if (statement === undefined) byConnection.set(db, (statement = prepare(db)));
  const items = statement.all({
    beforeId: args.beforeId ?? Number.MAX_SAFE_INTEGER,
    limit: args.limit + 1,
  });
  return { items: items.slice(0, args.limit), hasMore: items.length > args.limit };
}
