import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { StockChange, Unreadable } from '../../core/input.ts';
import type { ChangeBranch } from '../../core/merge/change-outcome.ts';
import type { Db } from '../../sqlite/open.ts';
import { column, prepared } from '../../sqlite/prepared.ts';
import { parseDelivery } from '../../store-api/delivery.ts';
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
  readonly sha256: string;
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

const COLUMNS = 'i.seq, i.arrived_at_ms AS arrivedAtMs, length(i.body) AS bytes, d.outcomes';

const ROWS = `
  SELECT ${COLUMNS} FROM inbox i LEFT JOIN deliveries d ON d.inbox_seq = i.seq
  WHERE i.seq < @beforeSeq AND i.kind = 'delivery' ORDER BY i.seq DESC LIMIT @limit`;

const WITH_DEAD_LETTERS = `
  SELECT ${COLUMNS}
  FROM (SELECT DISTINCT inbox_seq FROM dead_letters WHERE inbox_seq < @beforeSeq ORDER BY inbox_seq DESC LIMIT @limit) l
  CROSS JOIN inbox i ON i.seq = l.inbox_seq
  LEFT JOIN deliveries d ON d.inbox_seq = i.seq`;

interface Row {
  readonly seq: number;
  readonly arrivedAtMs: number;
  readonly bytes: number;
  readonly outcomes: string | null;
}

export function deliveryPage(
  db: Db,
  args: { readonly beforeSeq: number | null; readonly limit: number; readonly deadLettersOnly: boolean },
): DeliveryPage {
  const beforeSeq = args.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const rows = prepared<object, Row>(db, args.deadLettersOnly ? WITH_DEAD_LETTERS : ROWS).all({
    beforeSeq,
    limit: args.limit + 1,
  });
  const views: DeliveryView[] = [];
  let parsed = 0;
  for (const row of rows.slice(0, args.limit)) {
    parsed += row.bytes > PARSED_BYTES ? 0 : row.bytes;
    if (views.length > 0 && parsed > PARSED_BYTES) break;
    const body = row.bytes > PARSED_BYTES ? null : bodyOf(db, row.seq);
    views.push(viewOf(row, body, ITEMS_SHOWN));
  }
  const next = views.length < rows.length ? (views.at(-1)?.seq ?? null) : null;
  const firstSeq = column<[], number | null>(db, 'SELECT min(seq) FROM inbox').get() ?? 0;
  return { deliveries: views, next, isPruned: firstSeq > 1 };
}

export function deliveryAt(db: Db, { seq }: { readonly seq: number }): WholeDelivery | null {
  const row = prepared<object, Row>(db, ROWS).get({ beforeSeq: seq + 1, limit: 1 });
  const body = bodyOf(db, seq);
  if (row?.seq !== seq || body === null) return null;
  const head = body.subarray(0, PARSED_ALONE_BYTES);
  // By pattern, because a body that is not JSON may contain it too.
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
  return (
    column<[number], Buffer>(db, `SELECT body FROM inbox WHERE seq = ? AND kind = 'delivery'`).get(seq) ??
    null
  );
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
