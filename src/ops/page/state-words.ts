/** Sentences that explain the mirror's state and what to do about it, without markup. */
import type { OwedReads } from '../../mirror/queries/overview.ts';
import type { Status } from '../../mirror/queries/status.ts';
import { WAITING_MS, type MirrorState, type StateCause } from '../../mirror/file/state.ts';
import type { Operator } from '../shared/operator.ts';
import { count, duration } from './figures.ts';
import { reasonWords } from '../shared/words.ts';

export interface Situation {
  readonly status: Status;
  /** Why the mirror is not live; null: it is. */
  readonly cause: StateCause | null;
  readonly owed: OwedReads;
  readonly blocked: Operator['blocked'];
  readonly nowMs: number;
}

export const STATE_NAMES: Readonly<Record<MirrorState, string>> = {
  live: 'Live',
  catching_up: 'Catching up',
  stale: 'Stale',
};

interface Explanation {
  readonly why: readonly string[];
  /** What to do; null: nothing. */
  readonly advice: string | null;
}

export function explainState({ status, cause, owed, blocked, nowMs }: Situation): Explanation {
  const why: string[] = [];
  let advice: string | null = null;
  const doubtMs = owed.oldestDoubtAtMs === null ? 0 : nowMs - owed.oldestDoubtAtMs;
  switch (cause) {
    case null:
      why.push(
        status.pending_reads === 0
          ? 'All figures are current: every product was read after the last downtime, and no read is due.'
          : `Figures are current, except rows marked suspect: every product ${status.parked_reads > 0 ? 'that the store shows ' : ''}was read after the last downtime, and ${count(status.pending_reads, 'read is', 'reads are')} pending.`,
      );
      break;
    case 'first_read':
    case 'downtime':
      why.push(
        cause === 'first_read'
          ? 'The first read of the whole catalogue is not finished yet.'
          : 'Products are being re-read after downtime of the mirror or a restored backup.',
      );
      advice =
        'Nothing: the mirror is live as soon as all products are read. Rows not read yet are marked suspect.';
      break;
    case 'no_heartbeat':
      why.push(
        'Because of this machine or another program, the mirror cannot write its database: all figures may be out of date, and deliveries are answered 503.',
      );
      advice =
        'Check the disk and look for another program that locks the database; the mirror’s log output names the cause.';
      break;
    case 'given_up':
      why.push(
        `The store refuses or fails to show ${count(status.parked_reads, 'product')}, more than 5 % of the catalogue: their figures may be out of date.`,
      );
      advice = 'Ask the store what changed for this app, then start a full resync.';
      break;
    case 'waiting':
      // What the mass-removal guard holds waits as well, but not for a read.
      why.push(
        doubtMs > WAITING_MS
          ? `A re-read request has been waiting for ${duration(doubtMs)}, longer than 15 min: suspect figures may be out of date.`
          : 'The mass-removal guard has been holding removals for longer than 15 min: the store no longer shows what they are about.',
      );
      advice =
        doubtMs > WAITING_MS
          ? 'See below why the store cannot be read.'
          : 'Check in the store whether the removals are right: see below.';
  }
  if (status.suspect_count > 0) {
    why.push(`${count(status.suspect_count, 'stock level is', 'stock levels are')} suspect.`);
  }
  if (status.open_gaps > 0) {
    const age = owed.oldestGapAtMs === null ? '' : `, the oldest for ${duration(nowMs - owed.oldestGapAtMs)}`;
    why.push(
      `${count(status.open_gaps, 'gap is', 'gaps are')} open: a delivery from the store is late or lost${age}.`,
    );
  }
  if (blocked === null) return { why, advice };
  // The warning below has its own advice; but nothing helps before the database can be written.
  const isFirst = cause === 'no_heartbeat';
  return { why: [...why, 'No requests are sent to the store: see below.'], advice: isFirst ? advice : null };
}

interface Debt {
  readonly words: string;
  readonly products: number;
  readonly doubt: boolean;
  readonly sinceMs: number;
}

/** Re-read requests by reason. */
export function debts({ owed }: OwedReads): Debt[] {
  return owed.map(({ reason, products, doubt, sinceMs }) => ({
    words: reasonWords(reason),
    products,
    doubt,
    sinceMs,
  }));
}

/** What to do when no requests are sent to the store; refused credentials have a text of their own. */
export function blockAdvice(kind: string): string {
  switch (kind) {
    case 'wrong_store':
      return 'The credentials are for another store. Correct them and restart the mirror, or set DATABASE_PATH to a new file for that store.';
    case 'rate_limited':
      return 'Nothing: the store asked for a pause, and reads resume when it is over. If this happens often, lower SERVICE_MAX_RPS.';
    case 'breaker':
      return 'Nothing here: the store is failing. It is tried at least every 30 s, and due products are read within 90 s of its recovery.';
    default:
      return 'Nothing: reads resume by themselves.';
  }
}
