/** Why the mirror is in its state, and what to do about it, as sentences. Knows no markup. */
import type { OwedReads } from '../../store/queries/page-overview.ts';
import type { Status } from '../../store/queries/status.ts';
import type { Operator } from '../operator.ts';
import { count, duration } from './figures.ts';
import { reasonWords } from './words.ts';

export interface Situation {
  readonly status: Status;
  readonly owed: OwedReads;
  readonly blocked: Operator['blocked'];
  readonly nowMs: number;
}

export const STATE_NAMES = { live: 'Live', catching_up: 'Catching up', stale: 'Stale' } as const;

/** As `mirror_status` has it. */
const ALIVE_WITHIN_MS = 10_000;

function isGivenUp({ parked_reads, products }: Status): boolean {
  return parked_reads > Math.max(1, Math.floor(products / 20));
}

export interface Explanation {
  readonly why: readonly string[];
  /** What to do; null: nothing. */
  readonly advice: string | null;
}

export function explainState({ status, owed, blocked, nowMs }: Situation): Explanation {
  const why: string[] = [];
  let advice: string | null = null;
  const isSilent = status.alive_at === null || status.alive_at < nowMs - ALIVE_WITHIN_MS;
  const doubtMs = owed.oldestDoubtAtMs === null ? 0 : nowMs - owed.oldestDoubtAtMs;
  switch (status.state) {
    case 'live':
      why.push(
        status.pending_reads === 0
          ? 'Every product was read since the mirror last did not listen, and no doubt is open.'
          : `Every product ${status.parked_reads > 0 ? 'that the service shows ' : ''}was read since the mirror last did not listen; ${count(status.pending_reads, 'read')} will settle what is open.`,
      );
      break;
    case 'catching_up':
      why.push(
        status.last_full_sync_at === null
          ? 'The catalogue has not been read whole yet.'
          : 'Products are being read that nobody could listen for: a while without the service, or a restored backup.',
      );
      advice =
        'Nothing needs to be done: it is live when all are read. Rows not yet read are marked suspect.';
      break;
    case 'stale':
      if (isSilent) {
        why.push('The database has not been written to for a while, so that nothing here can be relied on.');
        advice =
          'Look at the disk, and at the service’s log, which names the cause; deliveries are answered 503 until then.';
      } else if (isGivenUp(status)) {
        why.push(
          `The service refuses, or fails, to show ${count(status.parked_reads, 'product')}: more than one, and than 5 % of the catalogue.`,
        );
        advice = 'Ask the service’s operator what changed for this app, then start a full resync.';
      } else {
        why.push(
          `A doubt has waited for its read for ${duration(doubtMs)}: longer than a quarter of an hour.`,
        );
        advice = 'See below what keeps the service from being read.';
      }
  }
  if (status.suspect_count > 0) {
    why.push(`${count(status.suspect_count, 'stock level is', 'stock levels are')} suspect.`);
  }
  if (status.open_gaps > 0) {
    const age = owed.oldestGapAtMs === null ? '' : `, the oldest for ${duration(nowMs - owed.oldestGapAtMs)}`;
    why.push(
      `${count(status.open_gaps, 'chain of changes is', 'chains of changes are')} broken: a delivery is late or lost${age}.`,
    );
  }
  if (blocked === null) return { why, advice };
  // What to do about that is said with it; but nothing helps before the database can be written to.
  const isFirst = status.state === 'stale' && isSilent;
  return { why: [...why, 'The service is not being asked: see below.'], advice: isFirst ? advice : null };
}

export interface Debt {
  readonly words: string;
  readonly products: number;
  readonly doubt: boolean;
  readonly sinceMs: number;
}

/** What must be read, by reason. */
export function debts({ owed }: OwedReads): Debt[] {
  return owed.map(({ reason, products, doubt, sinceMs }) => ({
    words: reasonWords(reason),
    products,
    doubt,
    sinceMs,
  }));
}

/** What to do when nothing is asked of the service; refused credentials have words of their own. */
export function blockAdvice(kind: string): string {
  switch (kind) {
    case 'wrong_store':
      return 'These credentials are for another store. Correct them and start again, or set DATABASE_PATH to another file for that store.';
    case 'rate_limited':
      return 'The service asked for a pause, and is asked again when that is over. If it comes back often, lower SERVICE_MAX_RPS.';
    case 'breaker':
      return 'The service fails. It is probed at least every 30 s, and what is due is read within 90 s of its return.';
    default:
      return 'Reads go on by themselves when it ends.';
  }
}
