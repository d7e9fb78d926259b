/** Deliveries as they came, from the log: a bounded stretch of it at a time. */
import type { StockChange, Unreadable } from '../../core/entry.ts';
import { readDelivery, type DeliveryKind } from '../log.ts';
import type { Db } from '../open.ts';
import { prepared } from '../prepared.ts';

export interface LoggedDelivery {
  readonly seq: number;
  readonly atMs: number;
  readonly bytes: number;
  readonly requestId: string | null;
  /** Null: the body is too large to be shown. */
  readonly changes: readonly StockChange[] | null;
  readonly unreadable: readonly Unreadable[];
}

export interface DeliveryPage {
  /** Newest first. */
  readonly deliveries: readonly LoggedDelivery[];
  /** Log position below which to go on; null: the log has no more. */
  readonly next: number | null;
}

/** Entries of the log that one page may look at: many of them are reads. */
const LOOKED_AT = 5_000;
const LARGEST_SHOWN_BYTES = 64 << 10;
const MAX_SHOWN_ITEMS = 200;

const DELIVERIES = `
  SELECT seq, kind, at_ms AS atMs, length(payload) AS bytes,
    CASE WHEN length(payload) <= ${LARGEST_SHOWN_BYTES} THEN payload END AS payload
  FROM log WHERE seq < @beforeSeq AND seq >= @beforeSeq - ${LOOKED_AT} AND kind IN ('delivery', 'unmerged')
  ORDER BY seq DESC LIMIT @limit`;

interface Row {
  readonly seq: number;
  readonly kind: DeliveryKind;
  readonly atMs: number;
  readonly bytes: number;
  readonly payload: Buffer | null;
}

export function deliveryPage(
  db: Db,
  args: { readonly beforeSeq: number | null; readonly limit: number },
): DeliveryPage {
  const bounds = prepared<[], { first: number | null; last: number | null }>(
    db,
    'SELECT (SELECT min(seq) FROM log) AS first, (SELECT max(seq) FROM log) AS last',
  ).get();
  const first = bounds?.first ?? 0;
  const beforeSeq = Math.min(args.beforeSeq ?? Number.MAX_SAFE_INTEGER, (bounds?.last ?? 0) + 1);
  const rows = prepared<object, Row>(db, DELIVERIES).all({ beforeSeq, limit: args.limit });
  const lookedDownTo =
    rows.length === args.limit ? (rows.at(-1)?.seq ?? first) : Math.max(first, beforeSeq - LOOKED_AT);
  return { deliveries: rows.map(shown), next: lookedDownTo > first ? lookedDownTo : null };
}

function shown({ seq, kind, atMs, bytes, payload }: Row): LoggedDelivery {
  if (payload === null) return { seq, atMs, bytes, requestId: null, changes: null, unreadable: [] };
  const { requestId, changes, unreadable } = readDelivery(kind, payload);
  return {
    seq,
    atMs,
    bytes,
    requestId,
    changes: changes.slice(0, MAX_SHOWN_ITEMS),
    unreadable: unreadable.slice(0, MAX_SHOWN_ITEMS),
  };
}

export interface Quarantined {
  readonly id: number;
  readonly logSeq: number;
  /** When the delivery came; null: it is pruned. */
  readonly atMs: number | null;
  /** Null: the body as a whole. */
  readonly itemIndex: number | null;
  readonly problem: string;
  readonly variantId: string | null;
}

/** What was authentic and not understood, newest first. */
export function quarantinedItems(db: Db, args: { readonly limit: number }): Quarantined[] {
  return prepared<[number], Quarantined>(
    db,
    `SELECT q.id AS id, q.log_seq AS logSeq, l.at_ms AS atMs, q.item_index AS itemIndex, q.problem AS problem,
         q.variant_id AS variantId
       FROM quarantine q LEFT JOIN log l ON l.seq = q.log_seq ORDER BY q.id DESC LIMIT ?`,
  ).all(args.limit);
}
