import { isUtf8 } from 'node:buffer';
import type { StockChange, Unreadable } from '../../core/input.ts';
import type { ChangeBranch } from '../../core/merge/change-outcome.ts';
import { inbox } from '../../inbox/inbox-table.ts';
import { and, desc, eq, lt, min, sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { query, queryColumn, select, type Params, type RowOf } from '../../sqlite/query.ts';
import { parseDelivery } from '../../store-api/delivery.ts';
import { deadLetters, deliveries } from '../file/schema.ts';
import { requestTimeMs } from '../../store-api/request-time.ts';
import { OUTCOME_SEPARATOR } from '../file/state.ts';

export interface DeliveredItem extends StockChange {
  /** The merge branch; null if not applied yet, or not recorded. */
  readonly outcome: ChangeBranch | null;
}

export interface DeliveryView {
  readonly seq: number;
  readonly arrivedAtMs: number;
  readonly bytes: number;
  readonly requestId: string | null;
  /** The first items that were understood; null if the body is too large to parse here. */
  readonly items: readonly DeliveredItem[] | null;
  readonly itemCount: number;
  readonly unreadable: readonly Unreadable[];
  readonly unreadableCount: number;
}

export interface WholeDelivery extends DeliveryView {
  /** Store time. */
  readonly sentAtMs: number | null;
  readonly body: string;
  readonly isBodyWhole: boolean;
  /** false if the text has replacement characters. */
  readonly isUtf8: boolean;
}

export interface DeliveryPage {
  readonly deliveries: readonly DeliveryView[];
  /** `beforeSeq` of the next page; null if there is none. */
  readonly next: number | null;
  readonly isPruned: boolean;
}

const PARSED_BYTES = 64 << 10;
const PARSED_ALONE_BYTES = 256 << 10;
const ITEMS_SHOWN = 8;
const ITEMS_SHOWN_ALONE = 500;

const COLUMNS = {
  seq: inbox.seq,
  arrivedAtMs: inbox.arrivedAtMs,
  bytes: sql<number>`length(${inbox.body})`,
  outcomes: deliveries.outcomes,
};

interface Before {
  readonly beforeSeq: number;
  readonly limit: number;
}

const ROWS = query((params: Params<Before>) =>
  select(COLUMNS)
    .from(inbox)
    .leftJoin(deliveries, eq(deliveries.inboxSeq, inbox.seq))
    .where(and(lt(inbox.seq, params.beforeSeq), eq(inbox.kind, 'delivery')))
    .orderBy(desc(inbox.seq))
    .limit(params.limit),
);

const WITH_DEAD_LETTERS = query((params: Params<Before>) => {
  const listed = select({ deadSeq: deadLetters.inboxSeq })
    .from(deadLetters)
    .where(lt(deadLetters.inboxSeq, params.beforeSeq))
    .groupBy(deadLetters.inboxSeq)
    .orderBy(desc(deadLetters.inboxSeq))
    .limit(params.limit)
    .as('listed');
  return select(COLUMNS)
    .from(listed)
    .crossJoin(inbox)
    .leftJoin(deliveries, eq(deliveries.inboxSeq, inbox.seq))
    .where(eq(inbox.seq, listed.deadSeq));
});

type Row = RowOf<typeof ROWS>;

const BODY = queryColumn((params: Params<{ seq: number }>) =>
  select({ body: inbox.body })
    .from(inbox)
    .where(and(eq(inbox.seq, params.seq), eq(inbox.kind, 'delivery'))),
);

const FIRST = queryColumn(() => select({ seq: min(inbox.seq) }).from(inbox));

export function deliveryPage(
  db: Db,
  args: { readonly beforeSeq: number | null; readonly limit: number; readonly deadLettersOnly: boolean },
): DeliveryPage {
  const beforeSeq = args.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const found = args.deadLettersOnly ? WITH_DEAD_LETTERS : ROWS;
  const rows = found.all(db, { beforeSeq, limit: args.limit + 1 });
  const views: DeliveryView[] = [];
  let parsed = 0;
  for (const row of rows.slice(0, args.limit)) {
    parsed += row.bytes > PARSED_BYTES ? 0 : row.bytes;
    if (views.length > 0 && parsed > PARSED_BYTES) break;
    const body = row.bytes > PARSED_BYTES ? null : bodyOf(db, row.seq);
    views.push(viewOf(row, body, ITEMS_SHOWN));
  }
  const next = views.length < rows.length ? (views.at(-1)?.seq ?? null) : null;
  const firstSeq = FIRST.one(db) ?? 0;
  return { deliveries: views, next, isPruned: firstSeq > 1 };
}

export function deliveryAt(db: Db, { seq }: { readonly seq: number }): WholeDelivery | null {
  const row = ROWS.get(db, { beforeSeq: seq + 1, limit: 1 });
  const body = bodyOf(db, seq);
  if (row?.seq !== seq || body === null) return null;
  const head = body.subarray(0, PARSED_ALONE_BYTES);
  return {
    ...viewOf(row, row.bytes > PARSED_ALONE_BYTES ? null : body, ITEMS_SHOWN_ALONE),
    sentAtMs: requestTimeMs(body),
    body: head.toString('utf8'),
    isBodyWhole: head.length === body.length,
    isUtf8: isUtf8(body),
  };
}

function bodyOf(db: Db, seq: number): Buffer | null {
  return BODY.get(db, { seq }) ?? null;
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
