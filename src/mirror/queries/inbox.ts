/** Deliveries as the inbox keeps them, the latest first, each with what its items did. */
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { StockChange, Unreadable } from '../../core/input.ts';
import type { ChangeBranch } from '../../core/merge/change-outcome.ts';
import { and, blob, desc, eq, gt, integer, lt, min, sql, sqliteTable } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import { select, typed, type RowOf } from '../../sqlite/typed.ts';
import { parseDelivery } from '../../store-api/delivery.ts';
import { deliveries } from '../file/schema.ts';
import { OUTCOME_SEPARATOR } from '../file/state.ts';

/** The inbox's own table (inbox/inbox.ts): the query thread has its file attached. */
const inbox = sqliteTable('inbox', {
  seq: integer('seq').primaryKey(),
  arrivedAtMs: integer('arrived_at_ms').notNull(),
  body: blob('body').$type<Buffer>().notNull(),
});

export interface DeliveredItem extends StockChange {
  /** The branch of the merge rule that it took; null: not applied yet, or not recorded. */
  readonly outcome: ChangeBranch | null;
}

export interface DeliveryView {
  readonly seq: number;
  readonly arrivedAtMs: number;
  readonly bytes: number;
  readonly requestId: string | null;
  /** The first items that were understood; null: the body is too large to be parsed here. */
  readonly items: readonly DeliveredItem[] | null;
  /** How many were understood. */
  readonly itemCount: number;
  /** The first items that were not understood. */
  readonly unreadable: readonly Unreadable[];
  readonly unreadableCount: number;
}

/** A delivery with its body. */
export interface WholeDelivery extends DeliveryView {
  /** When it was sent, by the store's clock. */
  readonly sentAtMs: number | null;
  /** SHA-256 of the bytes, in hex. */
  readonly sha256: string;
  /** The bytes as text, or the first of them. */
  readonly body: string;
  readonly isBodyWhole: boolean;
  /** false: the text has replacement characters. */
  readonly isUtf8: boolean;
}

export interface DeliveryPage {
  readonly deliveries: readonly DeliveryView[];
  /** Row below which to continue; null: there are no more. */
  readonly next: number | null;
  /** Older ones are pruned. */
  readonly isPruned: boolean;
}

/** A page parses this much; a larger body has a page of its own, and is shown up to the larger bound. */
const PARSED_BYTES = 64 << 10;
const PARSED_ALONE_BYTES = 256 << 10;
const ITEMS_SHOWN = 8;
const ITEMS_SHOWN_ALONE = 500;

/** Apart: SQLite finds one end by the index, and both at once by reading all of it. */
const ENDS = 'SELECT (SELECT min(seq) FROM inbox) AS first, (SELECT max(seq) FROM inbox) AS last';

function ends(db: Db): { readonly first: number; readonly last: number } | null {
  const found = prepared<[], { readonly first: number | null; readonly last: number | null }>(db, ENDS).get();
  if (found === undefined || found.first === null || found.last === null) return null;
  return { first: found.first, last: found.last };
}

const ROW = {
  seq: inbox.seq,
  arrivedAtMs: inbox.arrivedAtMs,
  bytes: sql<number>`length(${inbox.body})`,
  outcomes: deliveries.outcomes,
};

const ROWS = typed(
  select(ROW)
    .from(inbox)
    .leftJoin(deliveries, eq(deliveries.inboxSeq, inbox.seq))
    .where(and(lt(inbox.seq, sql.placeholder('beforeSeq')), gt(inbox.seq, sql.placeholder('afterSeq'))))
    .orderBy(desc(inbox.seq))
    .limit(sql.placeholder('limit')),
);

const WITH_DEAD_LETTERS = `
  SELECT i.seq, i.arrived_at_ms AS arrivedAtMs, length(i.body) AS bytes, d.outcomes
  FROM (SELECT DISTINCT inbox_seq FROM dead_letters WHERE inbox_seq < @beforeSeq ORDER BY inbox_seq DESC LIMIT @limit) l
  CROSS JOIN inbox i ON i.seq = l.inbox_seq
  LEFT JOIN deliveries d ON d.inbox_seq = i.seq`;

const BODY = typed(
  select({ body: inbox.body })
    .from(inbox)
    .where(eq(inbox.seq, sql.placeholder('seq'))),
);

type Row = RowOf<typeof ROWS>;

/** @param args.beforeSeq null: from the newest. */
export function deliveryPage(
  db: Db,
  args: { readonly beforeSeq: number | null; readonly limit: number; readonly deadLettersOnly: boolean },
): DeliveryPage {
  const first = ends(db)?.first ?? 0;
  const beforeSeq = args.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const rows = args.deadLettersOnly
    ? prepared<object, Row>(db, WITH_DEAD_LETTERS).all({ beforeSeq, limit: args.limit + 1 })
    : ROWS.all(db, { beforeSeq, afterSeq: 0, limit: args.limit + 1 });
  const views: DeliveryView[] = [];
  let parsed = 0;
  for (const row of rows.slice(0, args.limit)) {
    parsed += row.bytes > PARSED_BYTES ? 0 : row.bytes;
    if (views.length > 0 && parsed > PARSED_BYTES) break;
    const body = row.bytes > PARSED_BYTES ? null : bodyOf(db, row.seq);
    views.push(viewOf(row, body, ITEMS_SHOWN));
  }
  const next = views.length < rows.length ? (views.at(-1)?.seq ?? null) : null;
  return { deliveries: views, next, isPruned: first > 1 };
}

/** null: the inbox has no such row. */
export function deliveryAt(db: Db, { seq }: { readonly seq: number }): WholeDelivery | null {
  const [row] = ROWS.all(db, { beforeSeq: seq + 1, afterSeq: seq - 1, limit: 1 });
  const body = bodyOf(db, seq);
  if (row === undefined || body === null) return null;
  const head = body.subarray(0, PARSED_ALONE_BYTES);
  // Found without parsing: a body that is not JSON may have it all the same.
  const sent = /"request_time"\s*:\s*(\d{13})\b/.exec(head.toString('latin1'))?.[1];
  return {
    ...viewOf(row, row.bytes > PARSED_ALONE_BYTES ? null : body, ITEMS_SHOWN_ALONE),
    sentAtMs: sent === undefined ? null : Number(sent),
    sha256: hash('sha256', body, 'hex'),
    body: head.toString('utf8'),
    isBodyWhole: head.length === body.length,
    isUtf8: isUtf8(body),
  };
}

function bodyOf(db: Db, seq: number): Buffer | null {
  return BODY.get(db, { seq })?.body ?? null;
}

function viewOf({ outcomes, ...row }: Row, body: Buffer | null, shown: number): DeliveryView {
  if (body === null) {
    return { ...row, requestId: null, items: null, itemCount: 0, unreadable: [], unreadableCount: 0 };
  }
  const { requestId, changes, unreadable } = parseDelivery(body);
  const branches = outcomes?.split(OUTCOME_SEPARATOR) ?? [];
  return {
    ...row,
    requestId,
    items: changes
      .slice(0, shown)
      .map((change, i) => ({ ...change, outcome: (branches[i] ?? null) as ChangeBranch | null })),
    itemCount: changes.length,
    unreadable: unreadable.slice(0, shown),
    unreadableCount: unreadable.length,
  };
}

/** How far the mirror is behind the inbox. */
export interface Lag {
  /** Deliveries that are on disk and not yet applied. */
  readonly deliveries: number;
  /** When the first of them arrived; null: there is none. */
  readonly sinceMs: number | null;
}

const LAG = typed(
  select({ deliveries: sql<number>`count(*)`, sinceMs: min(inbox.arrivedAtMs) })
    .from(inbox)
    .where(sql`${inbox.seq} > (SELECT inbox_seq FROM mirror_state)`),
);

export function lag(db: Db): Lag {
  return LAG.get(db) ?? { deliveries: 0, sinceMs: null };
}
