/** Deliveries as the event log keeps them, the latest first. */
import { desc, eq, lt, sql } from '../../sqlite/drizzle.ts';
import { parseDelivery } from '../../store-api/delivery.ts';
import type { Db } from '../../sqlite/open.ts';
import { log } from '../../event-log/schema.ts';
import { deadLetters } from '../file/schema.ts';
import { select, typed, type RowOf } from '../../sqlite/typed.ts';
import { LOGGED, PAYLOAD } from './logged.ts';
import { takePortion } from './scan.ts';

interface DeliveryView {
  /** Position in the event log. */
  readonly log_seq: number;
  readonly arrived_at: number;
  readonly bytes: number;
  readonly request_id: string | null;
  /** Items that were understood; null when the body is too large to be parsed here. */
  readonly items: number | null;
  /** Their latest `update_time`, in the store's clock. */
  readonly latest_update_time: number | null;
  /** Items that were not understood. */
  readonly problems: readonly {
    readonly item_index: number | null;
    readonly problem: string;
    readonly variant_id: string | null;
  }[];
}

/** Where a list continues: below this position and, in a list of dead letters, below this row of theirs. */
interface DeliveryKey {
  readonly logSeq: number;
  readonly deadLetterId: number;
}

interface DeliveriesArgs {
  readonly before: DeliveryKey;
  readonly limit: number;
  /** Only deliveries with a dead letter. */
  readonly deadLettersOnly: boolean;
  /** Only those whose latest change was this old when they arrived, as far as the two clocks agree. */
  readonly minDelayMs: number | null;
}

/** Larger bodies are not parsed for a list: the reader's thread has other queries to answer. */
const MAX_PARSED_BYTES = 64 << 10;
/** A page parses no more than this much of bodies, however many rows are requested. */
const PARSED_BYTES = 4 << 20;
/** With a filter that needs the bodies, this many are looked at for one page. */
const PARSED_AT_ONCE = 200;

const LATEST = typed(
  select({ ...LOGGED, deadLetterId: sql<number>`0` })
    .from(log)
    .where(lt(log.seq, sql.placeholder('logSeq')))
    .orderBy(desc(log.seq)),
);

// In the order of the event log, since each row was written with its delivery.
const DEAD_LETTERS = typed(
  select({ ...LOGGED, deadLetterId: deadLetters.id })
    .from(deadLetters)
    .innerJoin(log, eq(log.seq, deadLetters.logSeq))
    .where(lt(deadLetters.id, sql.placeholder('deadLetterId')))
    .orderBy(desc(deadLetters.id)),
);

type Row = RowOf<typeof LATEST>;

export function deliveriesBefore(
  db: Db,
  { before, limit, deadLettersOnly, minDelayMs }: DeliveriesArgs,
): {
  readonly rows: readonly DeliveryView[];
  readonly last: DeliveryKey | null;
  readonly hasMore: boolean;
} {
  const found = deadLettersOnly
    ? DEAD_LETTERS.iterate(db, { deadLetterId: before.deadLetterId })
    : LATEST.iterate(db, { logSeq: before.logSeq });
  const views = new Map<number, DeliveryView>();
  const viewOnce = (row: Row): DeliveryView => {
    const known = views.get(row.seq);
    if (known !== undefined) return known;
    const view = viewOf(
      row,
      row.bytes > MAX_PARSED_BYTES ? null : (PAYLOAD.get(db, { seq: row.seq })?.payload ?? null),
    );
    views.set(row.seq, view);
    return view;
  };
  // One delivery may have several dead letters, and a page may end between them.
  let previous = before.logSeq;
  let parsedBytes = 0;
  const { rows, last, hasMore } = takePortion(found, {
    limit,
    ...(minDelayMs === null ? {} : { lookAt: PARSED_AT_ONCE }),
    keep: (row) => {
      const isNew = row.seq !== previous;
      previous = row.seq;
      if (!isNew || row.kind !== 'delivery') return false;
      if (row.bytes <= MAX_PARSED_BYTES) parsedBytes += row.bytes;
      return minDelayMs === null || delayOf(viewOnce(row)) >= minDelayMs;
    },
    isEnough: () => parsedBytes >= PARSED_BYTES,
  });
  return {
    rows: rows.map(viewOnce),
    last: last === null ? null : { logSeq: last.seq, deadLetterId: last.deadLetterId },
    hasMore,
  };
}

function delayOf({ arrived_at: arrivedAt, latest_update_time: latest }: DeliveryView): number {
  return latest === null ? Number.NEGATIVE_INFINITY : arrivedAt - latest;
}

function viewOf({ seq, atMs, bytes }: Row, body: Buffer | null): DeliveryView {
  const parsed = body === null ? null : parseDelivery(body);
  const times = parsed?.changes.map(({ updateTimeMs }) => updateTimeMs) ?? [];
  return {
    log_seq: seq,
    arrived_at: atMs,
    bytes,
    request_id: parsed?.requestId ?? null,
    items: parsed?.changes.length ?? null,
    latest_update_time: times.length === 0 ? null : times.reduce((a, b) => Math.max(a, b)),
    problems:
      parsed?.unreadable.map(({ itemIndex, problem, variantId }) => ({
        item_index: itemIndex,
        problem,
        variant_id: variantId,
      })) ?? [],
  };
}
