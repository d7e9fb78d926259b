/** Deliveries as they came, from the event log: a bounded part of it at a time. */
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { Unreadable } from '../../../core/entry.ts';
import { and, desc, eq, gte, lt, sql } from '../../../sqlite/drizzle.ts';
import { parseDelivery } from '../../../store-api/delivery.ts';
import type { Db } from '../../../sqlite/open.ts';
import { log } from '../../../event-log/schema.ts';
import { select, typed, type RowOf } from '../../../sqlite/typed.ts';
import { LOGGED, PAYLOAD } from '../logged.ts';
import { withEffects, type LoggedItem } from './effects.ts';

export interface LoggedDelivery {
  readonly seq: number;
  readonly atMs: number;
  readonly bytes: number;
  readonly requestId: string | null;
  /** The first items that were understood; null: the body is too large to be shown. */
  readonly items: readonly LoggedItem[] | null;
  /** How many were understood. */
  readonly itemCount: number;
  /** The first items that were not understood. */
  readonly unreadable: readonly Unreadable[];
  readonly unreadableCount: number;
}

/** A delivery with all that is kept of it. */
export interface WholeDelivery extends LoggedDelivery {
  /** When the store says that it sent it. */
  readonly sentAtMs: number | null;
  /** SHA-256 of the bytes, in hex. */
  readonly sha256: string;
  /** The bytes as text, or the first of them. */
  readonly body: string;
  readonly isBodyWhole: boolean;
  /** False: some bytes are no UTF-8, and the text has replacement characters in their place. */
  readonly isUtf8: boolean;
}

export interface DeliveryPage {
  /** Newest first. */
  readonly deliveries: readonly LoggedDelivery[];
  /** Log position below which to continue; null: the event log has no more. */
  readonly next: number | null;
  /** Older ones are pruned. */
  readonly isPruned: boolean;
}

/** Entries of the event log that one page may look at: many of them are reads. */
const LOOKED_AT = 5_000;
/** A page parses this much: a larger body is left to a page of its own, and is shown up to the larger bound. */
const PARSED_BYTES = 64 << 10;
const PARSED_ALONE_BYTES = 256 << 10;
const ITEMS_SHOWN = 8;
const ITEMS_SHOWN_ALONE = 500;

const FIRST = typed(select({ seq: sql<number | null>`min(${log.seq})` }).from(log));
const LAST = typed(select({ seq: sql<number | null>`max(${log.seq})` }).from(log));

const DELIVERIES = typed(
  select(LOGGED)
    .from(log)
    .where(
      and(
        lt(log.seq, sql.placeholder('beforeSeq')),
        gte(log.seq, sql.placeholder('downToSeq')),
        eq(log.kind, 'delivery'),
      ),
    )
    .orderBy(desc(log.seq))
    .limit(sql.placeholder('limit')),
);

const AT = typed(
  select(LOGGED)
    .from(log)
    .where(and(eq(log.seq, sql.placeholder('seq')), eq(log.kind, 'delivery'))),
);

export function deliveryPage(
  db: Db,
  args: { readonly beforeSeq: number | null; readonly limit: number },
): DeliveryPage {
  const first = FIRST.get(db)?.seq ?? 0;
  const beforeSeq = Math.min(args.beforeSeq ?? Number.MAX_SAFE_INTEGER, (LAST.get(db)?.seq ?? 0) + 1);
  const rows = DELIVERIES.all(db, { beforeSeq, downToSeq: beforeSeq - LOOKED_AT, limit: args.limit });
  const deliveries: LoggedDelivery[] = [];
  let parsed = 0;
  for (const row of rows) {
    // A larger one is not looked at.
    parsed += row.bytes > PARSED_BYTES ? 0 : row.bytes;
    if (deliveries.length > 0 && parsed > PARSED_BYTES) break;
    deliveries.push(shown(db, row, { bytes: PARSED_BYTES, items: ITEMS_SHOWN }));
  }
  const isCut = deliveries.length < rows.length || rows.length === args.limit;
  const lookedDownTo = isCut ? (deliveries.at(-1)?.seq ?? first) : Math.max(first, beforeSeq - LOOKED_AT);
  return { deliveries, next: lookedDownTo > first ? lookedDownTo : null, isPruned: first > 1 };
}

/** One delivery with its items and its body; null: there is none at this place in the event log. */
export function deliveryAt(db: Db, args: { readonly seq: number }): WholeDelivery | null {
  const row = AT.get(db, { seq: args.seq });
  const payload = row === undefined ? undefined : PAYLOAD.get(db, { seq: args.seq })?.payload;
  if (row === undefined || payload === undefined) return null;
  const head = payload.subarray(0, PARSED_ALONE_BYTES);
  return {
    ...shown(db, row, { bytes: PARSED_ALONE_BYTES, items: ITEMS_SHOWN_ALONE, payload }),
    sentAtMs: sentAtMs(head.toString('latin1')),
    sha256: hash('sha256', payload, 'hex'),
    body: head.toString('utf8'),
    isBodyWhole: head.length === payload.length,
    isUtf8: isUtf8(payload),
  };
}

/** Found without parsing: a body that is no JSON may have it all the same. */
function sentAtMs(body: string): number | null {
  const digits = /"request_time"\s*:\s*(\d{13})\b/.exec(body)?.[1];
  return digits === undefined ? null : Number(digits);
}

function shown(
  db: Db,
  { seq, atMs, bytes }: RowOf<typeof AT>,
  most: { readonly bytes: number; readonly items: number; readonly payload?: Buffer },
): LoggedDelivery {
  const payload = bytes > most.bytes ? undefined : (most.payload ?? PAYLOAD.get(db, { seq })?.payload);
  if (payload === undefined) {
    return {
      seq,
      atMs,
      bytes,
      requestId: null,
      items: null,
      itemCount: 0,
      unreadable: [],
      unreadableCount: 0,
    };
  }
  const { requestId, changes, unreadable } = parseDelivery(payload);
  return {
    seq,
    atMs,
    bytes,
    requestId,
    items: withEffects(db, { seq, atMs, changes: changes.slice(0, most.items) }),
    itemCount: changes.length,
    unreadable: unreadable.slice(0, most.items),
    unreadableCount: unreadable.length,
  };
}
