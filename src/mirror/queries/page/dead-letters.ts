/** Dead letters. */
import { desc, eq, lt, sql } from '../../../sqlite/drizzle.ts';
import type { Db } from '../../../sqlite/open.ts';
import { log } from '../../../event-log/schema.ts';
import { deadLetters } from '../../file/schema.ts';
import { select, typed, type RowOf } from '../../../sqlite/typed.ts';

const ITEMS = typed(
  select({
    id: deadLetters.id,
    logSeq: deadLetters.logSeq,
    /** When the delivery came; null: it is pruned. */
    atMs: log.atMs,
    /** Null: the body as a whole. */
    itemIndex: deadLetters.itemIndex,
    problem: deadLetters.problem,
    variantId: deadLetters.variantId,
  })
    .from(deadLetters)
    .leftJoin(log, eq(log.seq, deadLetters.logSeq))
    .where(lt(deadLetters.id, sql.placeholder('beforeId')))
    .orderBy(desc(deadLetters.id))
    .limit(sql.placeholder('limit')),
);

export type DeadLetter = RowOf<typeof ITEMS>;

/** Dead letters, newest first. @param args.beforeId null: from the newest. */
export function deadLettersBefore(
  db: Db,
  args: { readonly beforeId: number | null; readonly limit: number },
): { readonly items: readonly DeadLetter[]; readonly hasMore: boolean } {
  const beforeId = args.beforeId ?? Number.MAX_SAFE_INTEGER;
  const items = ITEMS.all(db, { beforeId, limit: args.limit + 1 });
  return { items: items.slice(0, args.limit), hasMore: items.length > args.limit };
}
