/** The change feed (docs/http-api.md#change-feed, docs/reading-the-mirror.md#following-changes). */
import type { DriftReason } from '../../core/drift-reasons.ts';
import type { Change } from '../../core/model.ts';
import type { Db } from '../../sqlite/open.ts';
import { column, onlyRow, prepared } from '../../sqlite/prepared.ts';
import { selectFrom, SHARE_BITS } from '../file/statements.ts';

/** A row of a public view; its columns are described in src/ops/api/rows.ts. */
export type ViewRow = Readonly<Record<string, string | number | null>>;
export type ChangeRow = ViewRow & { readonly seq: number };

export interface Position {
  readonly epoch: string;
  /** The last number assigned. Numbers may lack a row: a change of a name takes one too. */
  readonly lastSeq: number;
}

export interface FeedPage extends Position {
  readonly changes: readonly ChangeRow[];
  readonly hasMore: boolean;
  /** The last pruned number: continuing below it would skip changes. */
  readonly keptAfterSeq: number;
}

type Standing = Position & Pick<FeedPage, 'keptAfterSeq'>;

export function position(db: Db): Standing {
  const sql = 'SELECT epoch, last_seq AS lastSeq, pruned_change_seq AS keptAfterSeq FROM mirror_status';
  return onlyRow(prepared<[], Standing>(db, sql));
}

export function changesAfter(
  db: Db,
  args: { readonly after: number | null; readonly limit: number },
): FeedPage {
  return db.transaction(() => {
    const now = position(db);
    const found = prepared<[number, number], ChangeRow>(
      db,
      'SELECT * FROM mirror_changes WHERE seq > ? ORDER BY seq LIMIT ?',
    ).all(args.after ?? now.keptAfterSeq, args.limit + 1);
    const changes = found.slice(0, args.limit);
    return { ...now, changes, hasMore: found.length > changes.length };
  })();
}

// In index order: by reason, then by number.
const DRIFT = `
  SELECT * FROM mirror_changes
  WHERE source = 'read' AND reason <> 'first_read' AND reason = ? AND seq < ? ORDER BY seq DESC LIMIT ?`;

export function driftBefore(
  db: Db,
  args: { readonly before: number; readonly reasons: readonly DriftReason[]; readonly limit: number },
): { readonly rows: readonly ChangeRow[]; readonly hasMore: boolean } {
  const found = args.reasons
    .flatMap((reason) =>
      prepared<[string, number, number], ChangeRow>(db, DRIFT).all(reason, args.before, args.limit + 1),
    )
    .toSorted((a, b) => b.seq - a.seq);
  return { rows: found.slice(0, args.limit), hasMore: found.length > args.limit };
}

/** Newest first. A share without the variant costs a microsecond. */
export function changesOf(
  db: Db,
  args: { readonly variantId: string; readonly beforeSeq: number; readonly limit: number },
): Change[] {
  const { variantId, beforeSeq, limit } = args;
  const statement = prepared<[number, string, number, number], Change>(
    db,
    `${selectFrom(db, 'changes')} WHERE seq >> ${SHARE_BITS} = ? AND variant_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
  );
  const found: Change[] = [];
  for (const share of sharesNewestFirst(db)) {
    if (found.length === limit) break;
    found.push(...statement.all(share, variantId, beforeSeq, limit - found.length));
  }
  return found;
}

export function* sharesNewestFirst(db: Db): Generator<number> {
  const end = (which: 'min' | 'max'): number | null =>
    column<[], number | null>(db, `SELECT ${which}(seq) >> ${SHARE_BITS} FROM changes`).get() ?? null;
  const [first, last] = [end('min'), end('max')];
  if (first === null || last === null) return;
  for (let share = last; share >= first; share -= 1) yield share;
}
