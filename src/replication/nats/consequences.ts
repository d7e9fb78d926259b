/** What follows from the verdict on a history: where a replica goes on, and when and with what a lead begins a new one. */
import type { CopiedRow } from '../../event-log/copied-row.ts';
import { encodeEpoch } from '../../event-log/encode-epoch.ts';
import { CannotFollow, TransportError, type LeadStanding, type Standing } from '../transport.ts';
import { readCursor, verdictOn, type After, type StreamState } from './history.ts';

/**
 * Servers that were all restarted at first know only what they had applied, and recover the rest from their logs within
 * seconds. A history that is missing for this long is lost.
 */
export const LOST_FOR_MS = 10_000;
export const LOOK_EVERY_MS = 500;
/** Clocks of the engine's servers differ by less. */
const CLOCKS_DIFFER_NANOS = 60_000_000_000n;

interface Start {
  /** Of the first message that is copied. */
  readonly seq: number;
  /** When the base of the history before it was stored. */
  readonly baseAt: string;
}

/** @param rules the version of them here. @throws CannotFollow, TransportError when there is nothing to follow from there. */
export function startOf(from: Standing, state: StreamState, rules: number): Start {
  const verdict = verdictOn(from, state, rules);
  switch (verdict.type) {
    case 'after':
      return { seq: verdict.seq + 1, baseAt: state.base?.storedAt ?? '' };
    case 'base':
      return { seq: verdict.base.seq, baseAt: verdict.base.storedAt };
    case 'none':
      throw lost('the engine holds no history yet');
    case 'lost':
      throw lost(`the engine has lost entries that this event log has: ${verdict.why}`);
    case 'other':
      throw new CannotFollow(verdict.why, 'snapshot');
    case 'earlier_rules':
      throw new CannotFollow(
        `${verdict.why}: it goes on once all replicas are updated; what it has is shown until then`,
        'other_updates',
      );
    case 'later_rules':
      throw new TransportError(`${verdict.why}: update stock-mirror here`);
  }
}

export function lost(what: string): CannotFollow {
  return new CannotFollow(
    `${what}. The lead begins a new history; at least one process needs ROLE=replica,lead.`,
    'history',
  );
}

/** By somebody at least: a log that the history has left behind is replaced by a snapshot. */
export function isFollowable(from: LeadStanding, state: StreamState, rules: number): boolean {
  const { type } = verdictOn(from, state, rules);
  return type === 'other' ? !from.isStranded : !['none', 'lost', 'earlier_rules'].includes(type);
}

interface NewHistory {
  /** Of the epoch that begins with it. */
  readonly epoch: string;
  readonly rules: number;
}

/** The base of a history that goes on from where this log stands. */
export function newBase(
  { epoch: epochBefore, lastSeq, cursor, changeSeq, nowMs }: LeadStanding,
  { epoch, rules }: NewHistory,
): { readonly row: CopiedRow; readonly after: After } {
  const storedAt = readCursor(cursor)?.storedAt;
  const againFrom = storedAt === undefined ? 0n : BigInt(storedAt) - CLOCKS_DIFFER_NANOS;
  const entry = encodeEpoch({
    kind: 'epoch',
    atMs: nowMs,
    givenOutSeq: changeSeq,
    epoch,
    reachedFrom: { low: 0, high: lastSeq },
  });
  return {
    row: { ...entry, seq: lastSeq + 1 },
    after: { epoch: epochBefore, lastSeq, againFrom: String(againFrom), rules },
  };
}
