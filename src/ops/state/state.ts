/** Decides the mirror's state and its causes. Uses no clock and no database. */
import { counted, duration } from '../../platform/amounts.ts';
import { CATCHING_UP, CAUSE_CODES, causeOf, type Cause } from './causes.ts';
import { storeCause, type Blocked } from './store-cause.ts';
import type { Status } from '../../mirror/queries/status.ts';
import type { StreamFacts } from '../../stream/stream.ts';
import type { PlainError } from '../../sqlite/errors.ts';
import { verificationCause, type VerificationBound } from './verification-cause.ts';

export interface MirrorState {
  readonly state: 'live' | 'catching_up' | 'stale';
  readonly causes: readonly Cause[];
}

export type StatusFacts = Pick<
  Status,
  'state_cause' | 'alive_at' | 'products' | 'pending_reads' | 'parked_reads' | 'held_removals'
>;

export interface ProcessFacts {
  readonly commits: {
    /** The last successful transaction of the inbox; one is tried every second. */
    readonly lastGoodAtMs: number;
    readonly lastError: PlainError | null;
  };
  readonly fault: (PlainError & { readonly sinceMs: number }) | null;
  /** A row of the inbox has waited at least since then. */
  readonly behindSinceMs: number | null;
  readonly blocked: Blocked | null;
  /** Positive: this machine is ahead of the store. */
  readonly clockAheadMs: number | null;
  readonly silentSinceMs: number | null;
  readonly badSignatures: { readonly wrong: number; readonly right: number } | null;
  readonly turnedAwayAtMs: number | null;
  /** The latest request that may be the store's and missed `POST /webhooks`; null after a delivery. */
  readonly misdirected: {
    readonly reason: 'wrong_address' | 'wrong_protocol';
    /** The method and path, or the protocol. */
    readonly seen: string;
    readonly atMs: number;
  } | null;
  /** null if nothing is verified by schedule. */
  readonly verification: VerificationBound | null;
  /** null if no stream is configured. */
  readonly stream: StreamFacts | null;
  /** false: this host only receives. */
  readonly isMirror: boolean;
}

interface Facts {
  readonly nowMs: number;
  readonly status: StatusFacts | null;
  /** null outside the mirror's process. */
  readonly own: ProcessFacts | null;
  /** Another process holds the file without answering. */
  readonly isHeld: boolean;
}

/** Two missing heartbeats, of one per second, are not a coincidence. */
const NO_COMMIT_MS = 2_500;
/** A slow disk may take this long for one sync. */
const HANGS_MS = 5_000;
const BEHIND_MS = 30_000;
/** Smaller differences are mostly latency. */
const CLOCK_OFF_MS = 10_000;
/** The pause between the ticks that it may cause. */
const TURNED_AWAY_MS = 15 * 60_000;

export function stateOf(facts: Facts): MirrorState {
  const causes = [...fileCauses(facts), ...processCauses(facts), ...verificationCauses(facts)].toSorted(
    (a, b) => CAUSE_CODES.indexOf(a.code) - CAUSE_CODES.indexOf(b.code),
  );
  const state = causes.some(({ severity }) => severity === 'critical')
    ? 'stale'
    : causes.some(({ code }) => CATCHING_UP.has(code))
      ? 'catching_up'
      : 'live';
  return { state, causes };
}

function* fileCauses({ status, own, isHeld }: Facts): Generator<Cause> {
  if (status === null) {
    if (own?.fault === null && own.isMirror) yield causeOf('starting', null);
    return;
  }
  const { state_cause: code, alive_at: aliveAt, held_removals: held } = status;
  if (held > 0) yield causeOf('held_removals', null, { products: counted(held, 'product') });
  if (status.parked_reads > 0 && code !== 'refused_products') {
    yield causeOf('parked_reads', null, { products: counted(status.parked_reads, 'product') });
  }
  if (own === null && !isHeld) yield causeOf('stopped', aliveAt);
  switch (code) {
    case 'stopped':
    case 'no_heartbeat':
      if (own === null) {
        // A start marks the file as stopped until its first heartbeat.
        const isStarting = code === 'stopped' || aliveAt === null;
        if (isHeld) yield isStarting ? causeOf('starting', null) : causeOf('no_heartbeat', aliveAt);
        return;
      }
      // A running mirror writes its heartbeat after it has applied the inbox; `processCauses` reports obstacles. While
      // nothing comes through the stream, the heartbeat is withheld.
      if ((own.stream?.silentSinceMs ?? own.stream?.backlogSinceMs ?? null) === null)
        yield causeOf('starting', null);
      return;
    case 'first_read':
    case 'downtime': {
      const { pending_reads: pending, products } = status;
      // A new product waits before it counts.
      const all = Math.max(pending, products);
      const waiting = `${pending.toLocaleString('en')} of ${all.toLocaleString('en')} products wait to be read`;
      yield causeOf(code, null, { waiting });
      return;
    }
    case 'refused_products':
      yield causeOf(code, null, { products: counted(status.parked_reads, 'product') });
      return;
    case 'reads_overdue':
      yield causeOf(code, null);
      return;
    case 'held_removals':
    case null:
  }
}

function* processCauses({ own, nowMs }: Facts): Generator<Cause> {
  if (own === null) return;
  const { commits, fault, behindSinceMs, turnedAwayAtMs, misdirected, clockAheadMs } = own;
  const { lastGoodAtMs, lastError } = commits;
  const isFull = lastError?.kind === 'no_room' || fault?.kind === 'no_room';
  const cannotCommit = nowMs - lastGoodAtMs >= (lastError === null ? HANGS_MS : NO_COMMIT_MS);
  if (isFull && (cannotCommit || fault !== null)) {
    const full = fault ?? lastError;
    yield causeOf('disk_full', fault?.sinceMs ?? lastGoodAtMs, { fault: sentence(full?.message ?? '') });
  } else if (cannotCommit) {
    yield causeOf('cannot_commit', lastGoodAtMs, {
      fault: sentence(lastError?.message ?? 'the disk does not answer'),
    });
  }
  if (fault !== null && fault.kind !== 'no_room') {
    const code = fault.kind === 'busy' ? 'mirror_locked' : 'mirror_failed';
    yield causeOf(code, fault.sinceMs, { fault: sentence(fault.message) });
  }
  if (fault === null && behindSinceMs !== null && nowMs - behindSinceMs >= BEHIND_MS) {
    yield causeOf('apply_behind', behindSinceMs);
  }
  if (own.stream !== null) yield* streamCauses(own.stream);
  if (own.blocked !== null) yield storeCause(own.blocked);
  if (own.silentSinceMs !== null) yield causeOf('silence', own.silentSinceMs);
  if (own.badSignatures !== null) {
    const { wrong, right } = own.badSignatures;
    yield causeOf('bad_signatures', null, { wrong: String(wrong), right: String(right) });
  }
  if (turnedAwayAtMs !== null && nowMs - turnedAwayAtMs < TURNED_AWAY_MS) {
    yield causeOf('turned_away', turnedAwayAtMs);
  }
  if (misdirected !== null) {
    yield causeOf(misdirected.reason, misdirected.atMs, { seen: misdirected.seen });
  }
  if (clockAheadMs !== null && Math.abs(clockAheadMs) >= CLOCK_OFF_MS) {
    const side = clockAheadMs > 0 ? 'ahead of' : 'behind';
    yield causeOf('clock_wrong', null, { difference: `${duration(Math.abs(clockAheadMs))} ${side}` });
  }
}

function* verificationCauses({ status, own }: Facts): Generator<Cause> {
  if (status === null || own === null || own.verification === null) return;
  const cause = verificationCause(status.products, own.verification);
  if (cause !== null) yield cause;
}

function* streamCauses({ silentSinceMs, failure, backlogSinceMs }: StreamFacts): Generator<Cause> {
  if (silentSinceMs !== null) {
    const how = failure === null ? '' : ` (${sentence(failure)})`;
    yield causeOf('stream_silent', silentSinceMs, { how });
  }
  if (backlogSinceMs !== null) yield causeOf('stream_backlog', backlogSinceMs);
}

function sentence(text: string): string {
  return text.replace(/\.$/, '');
}
