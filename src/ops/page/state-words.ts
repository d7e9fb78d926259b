/** Sentences that explain the mirror's state and what to do about it, without markup. */
import type { PendingReads } from '../../mirror/queries/overview.ts';
import type { Status } from '../../mirror/queries/status.ts';
import type { Condition } from '../condition/condition.ts';
import { count, duration } from './figures.ts';
import { reasonWords } from '../shared/words.ts';

export interface Situation {
  readonly status: Status;
  readonly pending: PendingReads;
  readonly condition: Condition;
  readonly nowMs: number;
}

/** What there is to say of the present besides the headline and its causes. */
export function detailsOf({ status, pending, condition, nowMs }: Situation): readonly string[] {
  const why: string[] = [];
  if (status.suspect_count > 0 && condition.name !== 'repairing') {
    why.push(`${count(status.suspect_count, 'stock level is', 'stock levels are')} suspect.`);
  }
  if (condition.name === 'live' || condition.name === 'repairing') {
    why.push(
      status.pending_reads === 0
        ? `Every product ${status.parked_reads > 0 ? 'that the store shows ' : ''}was read after the last downtime, and no read is due.`
        : `${count(status.pending_reads, 'read is', 'reads are')} pending.`,
    );
  }
  if (pending.oldestSuspectAtMs !== null && status.state === 'stale') {
    why.push(
      `The oldest re-read request has been waiting for ${duration(nowMs - pending.oldestSuspectAtMs)}.`,
    );
  }
  if (status.open_gaps > 0) {
    const age =
      pending.oldestGapAtMs === null ? '' : `, the oldest for ${duration(nowMs - pending.oldestGapAtMs)}`;
    why.push(
      `${count(status.open_gaps, 'gap is', 'gaps are')} open: a delivery from the store is late or lost${age}.`,
    );
  }
  return why;
}

/** What to do where nothing blocks the mirror; null: nothing, and nothing to wait for. */
export function adviceOf({ name }: Pick<Condition, 'name'>): string | null {
  switch (name) {
    case 'catching_up':
      return 'Nothing: the mirror is live as soon as all products are read. Rows not read yet are marked suspect.';
    case 'repairing':
      return 'Nothing: the rows are marked suspect until their products are read.';
    case 'blocked':
    case 'live':
      return null;
  }
}

interface RequestGroupWords {
  readonly words: string;
  readonly products: number;
  readonly isSuspect: boolean;
  readonly sinceMs: number;
}

/** Re-read requests by reason. */
export function requestGroups({ groups }: PendingReads): RequestGroupWords[] {
  return groups.map(({ reason, products, isSuspect, sinceMs }) => ({
    words: reasonWords(reason),
    products,
    isSuspect,
    sinceMs,
  }));
}
