/**
 * The state of the mirror in one look, decided here alone, for page, `status`, `doctor`, API, metrics and log output:
 * whether its figures can be relied on, and if not, why, whose it is, and what to do. Uses no clock and no database.
 */
import type { Status } from '../../mirror/queries/status.ts';
import { CAUSE_KINDS, isBlocking, isReadless, isStandstill, type Cause } from './cause.ts';
import { notKeptUpCause, ownTrouble, raiseRate, stoppedCause, type OwnTrouble } from './own-trouble.ts';
import { spell } from './spell.ts';
import { storeTrouble, type Blocked } from './store-trouble.ts';

export const CONDITIONS = ['blocked', 'catching_up', 'repairing', 'live'] as const;
export type ConditionName = (typeof CONDITIONS)[number];

export const CONDITION_TITLES: Readonly<Record<ConditionName, string>> = {
  blocked: 'Blocked',
  catching_up: 'Catching up',
  repairing: 'Live, repairing',
  live: 'Live',
};

/** Whether the file is kept up by a mirror that answers, by none, or whether a process holds it that does not answer. */
export type Serving = 'yes' | 'no' | 'held';

export type ConditionStatus = Pick<
  Status,
  | 'state'
  | 'state_cause'
  | 'alive_at'
  | 'last_full_sync_at'
  | 'products'
  | 'levels'
  | 'suspect_count'
  | 'pending_reads'
  | 'parked_reads'
  | 'held_removals'
>;

interface Facts {
  readonly status: ConditionStatus;
  readonly nowMs: number;
  readonly serving: Serving;
  readonly blocked: Blocked | null;
  /** Null: only the mirror itself knows. */
  readonly own: OwnTrouble | null;
  readonly maxRps: number | null;
}

/** How many of the stock levels that the mirror has are certain. */
interface Certainty {
  /** From 0 to 1. Null: it cannot be said, since the levels are not all known yet, or do not follow the store. */
  readonly share: number | null;
  readonly certain: number;
  readonly levels: number;
}

export interface Condition {
  readonly name: ConditionName;
  readonly title: string;
  /** The headline: what is the case. */
  readonly headline: string;
  /** What holds, the most urgent first; only where the condition is `blocked` does the first one block. */
  readonly causes: readonly Cause[];
  readonly certainty: Certainty;
}

/** With more uncertain levels than this the mirror is live, but repairing. */
const REPAIRING_ABOVE = 0.01;

export function conditionOf(facts: Facts): Condition {
  const causes = causesOf(facts);
  const certainty = certaintyOf(facts.status, causes);
  const name = nameOf(facts, causes, certainty);
  return {
    name,
    title: CONDITION_TITLES[name],
    headline: headlineOf(name, facts, causes, certainty),
    causes,
    certainty,
  };
}

function causesOf({ status, nowMs, serving, blocked, own, maxRps }: Facts): Cause[] {
  const isSilent = isSilentNow(status);
  const found: Cause[] = [];
  if (serving === 'no') found.push(stoppedCause(status.alive_at));
  if (serving === 'held' && isSilent) found.push(notKeptUpCause(status.alive_at));
  if (own !== null) found.push(...ownTrouble(own, maxRps, nowMs));
  else if (serving === 'yes' && isSilent && status.alive_at !== null) {
    found.push(notWritten(status.alive_at));
  }
  if (blocked !== null) found.push(storeTrouble(blocked));
  if (status.state_cause === 'given_up') found.push(refusedProducts(status));
  // What the mass-removal guard holds waits as well, but not for a read.
  if (status.state_cause === 'waiting' && status.held_removals > 0) found.push(heldRemovals(status));
  else if (status.state_cause === 'waiting' && !found.some(isBlocking)) found.push(overdue(maxRps));
  return found.toSorted((a, b) => CAUSE_KINDS.indexOf(a.kind) - CAUSE_KINDS.indexOf(b.kind));
}

/** No heartbeat has reached the tables for a while, or none since a stop in order. */
function isSilentNow({ state_cause }: ConditionStatus): boolean {
  return state_cause === 'no_heartbeat' || state_cause === 'stopped';
}

function notWritten(sinceMs: number): Cause {
  return {
    kind: 'tables_stuck',
    owner: 'host',
    cause: 'The mirror’s tables are not written',
    figures: 'the figures are those of the last moment they were',
    remedy: 'see the log output of the mirror, which names the reason, or run `stock-mirror doctor`',
    since: sinceMs,
    until: null,
  };
}

function refusedProducts({ parked_reads: products }: ConditionStatus): Cause {
  return {
    kind: 'refused_products',
    owner: 'store',
    cause: `The store refuses or fails to show ${products.toLocaleString('en')} ${products === 1 ? 'product' : 'products'}, more than single faults explain`,
    figures: 'what is not shown may be out of date',
    remedy: 'ask the store what changed for this app, then run `stock-mirror resync`',
    since: null,
    until: null,
  };
}

function heldRemovals({ held_removals: held }: ConditionStatus): Cause {
  return {
    kind: 'held_removals',
    owner: 'operator',
    cause: `The store no longer shows much at once, and ${held.toLocaleString('en')} ${held === 1 ? 'removal waits' : 'removals wait'} for a decision`,
    figures: 'what the store no longer shows is kept, and suspect',
    remedy:
      'check in the store whether the removals are right; if so, allow them: `stock-mirror resync --allow-removals`',
    since: null,
    until: null,
  };
}

function overdue(maxRps: number | null): Cause {
  return {
    kind: 'overdue',
    owner: 'operator',
    cause: 'A re-read request has waited for longer than 15 min: there are more than the reads settle',
    figures: 'suspect figures may be out of date',
    remedy: raiseRate(maxRps),
    since: null,
    until: null,
  };
}

function certaintyOf(status: ConditionStatus, causes: readonly Cause[]): Certainty {
  const levels = status.levels;
  const certain = Math.max(0, levels - status.suspect_count);
  const isKnown = levels > 0 && status.last_full_sync_at !== null && !causes.some(isStandstill);
  // Rounded down: 100 % means all of them.
  const share = isKnown ? Math.floor((certain / levels) * 1e6) / 1e6 : null;
  return { share, certain, levels };
}

function nameOf({ status }: Facts, causes: readonly Cause[], { share }: Certainty): ConditionName {
  if (causes.some(isBlocking)) return 'blocked';
  if (status.state !== 'live') return 'catching_up';
  return share !== null && share < 1 - REPAIRING_ABOVE ? 'repairing' : 'live';
}

function headlineOf(
  name: ConditionName,
  { status }: Facts,
  causes: readonly Cause[],
  { certain, levels }: Certainty,
): string {
  const [first] = causes;
  const waiting = `${status.pending_reads.toLocaleString('en')} of ${status.products.toLocaleString('en')} products wait to be read`;
  switch (name) {
    case 'blocked':
      return first?.cause ?? '';
    case 'catching_up':
      if (isSilentNow(status))
        return 'The mirror applies what its event log has, and the figures stand still until then';
      return status.last_full_sync_at === null
        ? `The first read of the whole catalogue is not finished yet: ${waiting}`
        : `Products are read again after downtime of the mirror or a restored backup: ${waiting}`;
    case 'repairing':
      return `${(levels - certain).toLocaleString('en')} of ${levels.toLocaleString('en')} stock levels are uncertain, and their products are being read again`;
    case 'live':
      return levels === certain
        ? 'All figures are current'
        : `All figures are current, except the ${(levels - certain).toLocaleString('en')} that are marked suspect`;
  }
}

/** `since 5 min, next attempt in 12 s`, as far as it is known; else nothing. */
export function timesOf({ since, until }: Pick<Cause, 'since' | 'until'>, nowMs: number): string {
  const parts: string[] = [];
  if (since !== null) parts.push(`for ${spell(nowMs - since)}`);
  if (until !== null)
    parts.push(until <= nowMs ? 'next attempt now' : `next attempt in ${spell(until - nowMs)}`);
  return parts.join(', ');
}

/** What must be said beside the share of certain levels; null: nothing. */
export function reservationOf({ causes, certainty }: Pick<Condition, 'causes' | 'certainty'>): string | null {
  return certainty.share !== null && causes.some(isReadless)
    ? 'Nothing newer is verified until the store can be read again'
    : null;
}

/** `99.4 %`, never rounded up to 100; an unknown share in words. */
export function shareText({ share, certain, levels }: Certainty): string {
  if (share === null) return 'not known';
  if (certain === levels) return '100 %';
  if (certain === 0) return '0 %';
  return `${Math.min(99.9, Math.floor(share * 1_000) / 10).toFixed(1)} %`;
}
