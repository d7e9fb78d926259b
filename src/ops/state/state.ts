/** Decides the mirror's state and its causes, for every reader. Uses no clock and no database. */
import { isIsolated } from '../../core/runs.ts';
import type { VerificationBound } from '../../core/verification-bound.ts';
import type { MirrorState as State } from '../../mirror/file/state.ts';
import type { StateFacts } from '../../mirror/queries/state-facts.ts';
import { counted, duration } from '../../platform/amounts.ts';
import type { PlainError } from '../../sqlite/errors.ts';
import type { RefusalCount, StreamReport } from '../../inbox/report.ts';
import { CAUSE_CODES, causeOf, hasTrait, type Cause, type CauseCode, type StoredCause } from './causes.ts';
import type { Blocked } from '../../store-api/blocked.ts';
import { storeCause } from './store-cause.ts';
import { wayInCauses } from './way-in-causes.ts';
import { verificationCause } from './verification-cause.ts';

/** The state that every reader shows, with the reasons for it. */
export interface Verdict {
  readonly state: State;
  /** Most urgent first. */
  readonly causes: readonly Cause[];
}

export interface ProcessFacts {
  readonly receiver: {
    /** The last heartbeat that the receiver could commit, of one each second; own clock. */
    readonly lastGoodAtMs: number;
    /** It stopped in order. */
    readonly isStopped: boolean;
    /** Why the receiver of this process cannot commit; null if it can, or is another process. */
    readonly lastError: PlainError | null;
  };
  readonly fault: (PlainError & { readonly sinceMs: number }) | null;
  /** A row of the inbox has waited at least since then. */
  readonly behindSinceMs: number | null;
  readonly blocked: Blocked | null;
  /** Positive: this machine is ahead of the store. */
  readonly clockAheadMs: number | null;
  readonly refused: readonly RefusalCount[];
  /** null if nothing is verified by schedule. */
  readonly verification: VerificationBound | null;
  /** null if no stream is configured. */
  readonly stream: StreamReport | null;
  /** false on a host that only receives. */
  readonly isMirror: boolean;
  /** false from the start until the inbox is applied and every downtime noted. */
  readonly isReady: boolean;
  /** The last heartbeat, if readers no longer count it; own clock. */
  readonly lateSinceMs: number | null;
}

interface Facts {
  readonly nowMs: number;
  /** null while the mirror's file cannot be read. */
  readonly file: StateFacts | null;
  readonly own: ProcessFacts;
  /** Counted more rarely than the facts; null if unknown. */
  readonly pendingReads: number | null;
}

/** Two missing heartbeats, of one per second, are not a coincidence. */
const NO_COMMIT_MS = 2_500;
/** A slow disk may take this long for one sync. */
const HANGS_MS = 5_000;
const BEHIND_MS = 30_000;
/** Smaller differences are mostly latency. */
const CLOCK_OFF_MS = 10_000;
/** How long a delivery that the stream refused is shown. */
const REFUSED_MS = 60 * 60_000;

export function stateOf(facts: Facts): Verdict {
  const { file, own, pendingReads } = facts;
  return judge([
    ...(file === null
      ? []
      : [...fileCauses(file, pendingReads), ...verificationCauses(file, own, facts.nowMs)]),
    ...processCauses(own, facts.nowMs),
    ...wayInCauses({ file, refused: own.refused, nowMs: facts.nowMs }),
  ]);
}

interface ReceiverFacts {
  /** The last heartbeat that the receiver could commit; null before the first. */
  readonly aliveAtMs: number | null;
  /** It stopped in order. */
  readonly isStopped: boolean;
  readonly nowMs: number;
}

/** null while the receiver beats. */
export function receiverCause({ aliveAtMs, isStopped, nowMs }: ReceiverFacts): Cause | null {
  const isSilent = isStopped || aliveAtMs === null || nowMs - aliveAtMs >= HANGS_MS;
  return isSilent ? causeOf('no_receiver', aliveAtMs) : null;
}

/** The verdict that the mirror's file shows, for every face. @param causesJson `causes` of `mirror_status`. */
export function verdictOf(causesJson: string): Verdict {
  const stored = JSON.parse(causesJson) as readonly StoredCause[];
  return judge(stored.map((cause) => ({ ...causeOf(cause.code, cause.since ?? null), ...cause })));
}

export function judge(causes: readonly Cause[]): Verdict {
  const sorted = causes.toSorted((a, b) => CAUSE_CODES.indexOf(a.code) - CAUSE_CODES.indexOf(b.code));
  const state = sorted.some(isCritical) ? 'stale' : sorted.some(isCatchingUp) ? 'catching_up' : 'live';
  return { state, causes: sorted };
}

const isCritical = ({ severity }: Cause): boolean => severity === 'critical';
const isCatchingUp = ({ code }: Cause): boolean => hasTrait(code, 'isCatchingUp');

/** @returns the first cause of the state; null if it is `live`. */
export function firstCause({ state, causes }: Verdict): CauseCode | null {
  if (state === 'live') return null;
  return causes.find(state === 'stale' ? isCritical : isCatchingUp)?.code ?? null;
}

function* fileCauses(file: StateFacts, pendingReads: number | null): Generator<Cause> {
  const { heldRemovals, givenUpReads, givenUpLive, products } = file;
  if (heldRemovals > 0) yield causeOf('held_removals', null, { products: counted(heldRemovals, 'product') });
  if (file.listGap !== null) yield causeOf('list_gap', null, { gap: file.listGap });
  const isCatchingUp = !file.hasFullSync || file.hasUnread;
  if (!isCatchingUp && !isIsolated(givenUpLive, products)) {
    yield causeOf('refused_products', null, { products: counted(givenUpReads, 'product') });
  } else if (givenUpReads > 0) {
    yield causeOf('parked_reads', null, { products: counted(givenUpReads, 'product') });
  }
  if (isCatchingUp) {
    const waiting = waitingReads(file, pendingReads);
    yield causeOf(file.hasFullSync ? 'downtime' : 'first_read', null, { waiting });
  } else if (file.isReadOverdue) yield causeOf('reads_overdue', null);
}

function waitingReads({ products, hasUnread }: StateFacts, pending: number | null): string {
  if (pending !== null && pending > 0) {
    // A new product waits before it counts.
    const all = Math.max(pending, products);
    return `${pending.toLocaleString('en')} of ${all.toLocaleString('en')} products wait to be read`;
  }
  // The reads may have been counted before the products were listed.
  if (hasUnread) return 'products wait to be read';
  if (products === 0) return 'no product is listed yet';
  return `none of the products listed so far (${products.toLocaleString('en')}) waits to be read`;
}

function* processCauses(own: ProcessFacts, nowMs: number): Generator<Cause> {
  const { receiver, fault, behindSinceMs, clockAheadMs } = own;
  if (own.lateSinceMs !== null && fault === null) yield causeOf('stopped', own.lateSinceMs);
  if (own.isMirror && !own.isReady && fault === null && isQuiet(own.stream)) yield causeOf('starting', null);
  const { lastGoodAtMs, isStopped, lastError } = receiver;
  const isFull = lastError?.kind === 'no_room' || fault?.kind === 'no_room';
  const cannotCommit = lastError !== null && nowMs - lastGoodAtMs >= NO_COMMIT_MS;
  const silent = receiverCause({ aliveAtMs: lastGoodAtMs, isStopped, nowMs });
  if (silent !== null && lastError === null) yield silent;
  if (isFull && (cannotCommit || fault !== null)) {
    const full = fault ?? lastError;
    yield causeOf('disk_full', fault?.sinceMs ?? lastGoodAtMs, { fault: sentence(full?.message ?? '') });
  } else if (cannotCommit) {
    yield causeOf('cannot_commit', lastGoodAtMs, { fault: sentence(lastError.message) });
  }
  if (fault !== null && fault.kind !== 'no_room') {
    const code = fault.kind === 'busy' ? 'mirror_locked' : 'mirror_failed';
    yield causeOf(code, fault.sinceMs, { fault: sentence(fault.message) });
  }
  if (fault === null && behindSinceMs !== null && nowMs - behindSinceMs >= BEHIND_MS) {
    yield causeOf('apply_behind', behindSinceMs);
  }
  if (own.stream !== null) yield* streamCauses(own.stream, nowMs);
  if (own.blocked !== null) yield storeCause(own.blocked);
  if (clockAheadMs !== null && Math.abs(clockAheadMs) >= CLOCK_OFF_MS) {
    const side = clockAheadMs > 0 ? 'ahead of' : 'behind';
    yield causeOf('clock_wrong', null, { difference: `${duration(Math.abs(clockAheadMs))} ${side}` });
  }
}

function* verificationCauses(
  file: StateFacts,
  { verification, blocked }: ProcessFacts,
  nowMs: number,
): Generator<Cause> {
  if (verification === null) return;
  const cause = verificationCause(file, verification, { nowMs, isBlocked: blocked !== null });
  if (cause !== null) yield cause;
}

/** Otherwise the stream is the reason why the mirror is not ready. */
function isQuiet(stream: StreamReport | null): boolean {
  return stream === null || (stream.silentSinceMs === null && stream.backlogSinceMs === null);
}

function* streamCauses(
  { silentSinceMs, failure, backlogSinceMs, setAside }: StreamReport,
  nowMs: number,
): Generator<Cause> {
  if (silentSinceMs !== null) {
    const how = failure === null ? '' : ` (${sentence(failure)})`;
    yield causeOf('stream_silent', silentSinceMs, { how });
  }
  if (backlogSinceMs !== null) yield causeOf('stream_backlog', backlogSinceMs);
  if (setAside !== null && nowMs - setAside.atMs < REFUSED_MS) {
    const delivery = ` (${setAside.requestId ?? 'without request_id'}, ${setAside.bytes} bytes)`;
    yield causeOf('stream_refused', setAside.atMs, { delivery });
  }
}

function sentence(text: string): string {
  return text.replace(/\.$/, '');
}
