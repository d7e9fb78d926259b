/**
 * Collects the facts behind the state and decides it, with each heartbeat. The mirror's file carries the decision, so that
 * SQL, API, page, metrics and commands show the same.
 */
import type { Logger } from '../../platform/log.ts';
import type { StoreReader, StoreWriter } from '../../mirror/mirror.ts';
import { StoreError, type PlainError } from '../../sqlite/errors.ts';
import type { StreamFacts } from '../../stream/stream.ts';
import { HEARTBEAT_MS } from '../../mirror/file/state.ts';
import type { Status } from '../../mirror/queries/status.ts';
import type { StateFacts } from '../../mirror/queries/state-facts.ts';
import { CAUSE_CODES, type CauseCode } from './causes.ts';
import { Signatures } from './signatures.ts';
import { DeliveryHistory } from './silence.ts';
import { asWritten, firstCause, stateOf, type MirrorState, type ProcessFacts } from './state.ts';
import type { Blocked } from './store-cause.ts';
import type { VerificationBound } from './verification-cause.ts';

export interface StateWatchDeps {
  /** null, as `writer`, if this host only receives. */
  readonly reader: StoreReader | null;
  readonly inbox: { readonly lastSeq: number };
  readonly writer: Pick<StoreWriter, 'command' | 'position' | 'fault'> | null;
  readonly now: () => number;
  readonly log: Logger;
  readonly blocked: () => Blocked | null;
  readonly clockAheadMs: () => number | null;
  /** null if nothing is verified by schedule. */
  readonly verification: () => VerificationBound | null;
  /** null if no stream is configured. */
  readonly stream: (() => StreamFacts) | null;
  /** The last sample. */
  readonly status: () => Pick<Status, 'pending_reads' | 'last_delivery_at'> | null;
  /** The inbox is applied as far as it was at the start, and every downtime is noted. */
  readonly isReady: () => boolean;
}

interface Decision extends MirrorState {
  readonly atMs: number;
  readonly trustedAfterMs: number;
}

const EVERY_MS = 1_000;
/** A tick this late means that the whole process was held up. */
const LATE_MS = 3_000;

export class StateWatch {
  readonly #deps: StateWatchDeps;
  readonly #history: DeliveryHistory;
  readonly #signatures = new Signatures();
  #lastDeliveryAtMs: number | null = null;
  /** Downtime is not silence. */
  #listeningSinceMs: number;
  #commits: ProcessFacts['commits'];
  #fault: ProcessFacts['fault'] = null;
  #turnedAwayAtMs: number | null = null;
  #misdirected: ProcessFacts['misdirected'] = null;
  /** The last row of the inbox at an instant; replaced once that row is applied. */
  #awaited: { readonly seq: number; readonly atMs: number };
  #tickedMs = performance.now();
  /** The last one written; null before the first. */
  #decision: Decision | null = null;
  #file: StateFacts | null = null;
  readonly #since = new Map<CauseCode, number>();
  #logged: MirrorState['state'] | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(deps: StateWatchDeps) {
    const nowMs = deps.now();
    this.#deps = deps;
    this.#history = new DeliveryHistory(nowMs);
    this.#listeningSinceMs = nowMs;
    this.#commits = { lastGoodAtMs: nowMs, lastError: null };
    this.#awaited = { seq: deps.inbox.lastSeq, atMs: nowMs };
  }

  get current(): MirrorState {
    const decision = this.#decision;
    if (decision !== null && this.#isCurrent(decision)) {
      const { trustedAfterMs = decision.trustedAfterMs } = this.#deps.writer?.position ?? {};
      const isOvertaken = decision.state === 'live' && trustedAfterMs > decision.trustedAfterMs;
      const written = isOvertaken
        ? ({ state: 'catching_up', cause: 'downtime' } as const)
        : { state: decision.state, cause: firstCause(decision) };
      return this.#dated(asWritten(written, decision.causes));
    }
    return this.#dated(this.#decide(this.#deps.now(), this.#file, { isReady: false, error: null }));
  }

  get lastDeliveryAtMs(): number | null {
    const own = this.#lastDeliveryAtMs;
    const applied = this.#deps.status()?.last_delivery_at ?? null;
    // Other receivers' deliveries come through the stream. Without one, tests by `send` must not hide a silence.
    if (own === null || (this.#deps.stream !== null && (applied ?? 0) > own)) return applied;
    return own;
  }

  /** @param status as just read, or the error that prevented it. Its state is the one that SQL shows. */
  of(status: Pick<Status, 'state' | 'state_cause'> | StoreError): MirrorState {
    if (status instanceof StoreError) {
      return this.#dated(this.#decide(this.#deps.now(), null, { isReady: false, error: status }));
    }
    return this.#dated(asWritten({ state: status.state, cause: status.state_cause }, this.current.causes));
  }

  /** Decides the state and writes it with the heartbeat. @param atMs the host's clock. @throws StoreError */
  async beat(atMs: number): Promise<void> {
    const { reader, writer, now, isReady } = this.#deps;
    if (reader === null || writer === null) return;
    const nowMs = now();
    const file = await reader.ask('stateFacts', { nowMs });
    this.#file = file;
    const decided = this.#decide(nowMs, file, { isReady: isReady(), error: null });
    const { epoch, trustedAfterMs } = file;
    const written = await writer.command('alive', {
      atMs,
      clockMs: nowMs,
      epoch,
      trustedAfterMs,
      state: decided.state,
      stateCause: firstCause(decided),
    });
    const { state, causes } = asWritten({ state: written.state, cause: written.stateCause }, decided.causes);
    this.#decision = { state, causes, atMs: nowMs, trustedAfterMs };
  }

  /** Call for each authentic delivery, stored or not. */
  delivered(atMs: number): void {
    this.#lastDeliveryAtMs = atMs;
    this.#misdirected = null;
    this.#history.count(atMs);
    this.#signatures.count(true, atMs);
  }

  wronglySigned(atMs: number): void {
    this.#signatures.count(false, atMs);
  }

  turnedAway(atMs: number): void {
    this.#turnedAwayAtMs = atMs;
  }

  misdirected(latest: NonNullable<ProcessFacts['misdirected']>): void {
    this.#misdirected = latest;
  }

  committed(error: PlainError | null): void {
    const lastGoodAtMs = error === null ? this.#deps.now() : this.#commits.lastGoodAtMs;
    this.#commits = { lastGoodAtMs, lastError: error };
  }

  stoodStill(): void {
    this.#listeningSinceMs = this.#deps.now();
  }

  async start(): Promise<void> {
    const { reader } = this.#deps;
    this.#timer = setInterval(() => this.#tick(), EVERY_MS);
    this.#timer.unref();
    if (reader !== null) this.#history.learn(await reader.ask('notedMinutes', { sinceMs: 0 }));
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #tick(): void {
    const nowMs = this.#deps.now();
    const tickMs = performance.now();
    const lateMs = tickMs - this.#tickedMs - EVERY_MS;
    this.#tickedMs = tickMs;
    // While the process was held up, it could not try a transaction either.
    if (lateMs > LATE_MS) {
      const { lastGoodAtMs, lastError } = this.#commits;
      this.#commits = { lastGoodAtMs: Math.min(nowMs, lastGoodAtMs + lateMs), lastError };
    }
    this.#log(this.current);
  }

  #log(next: MirrorState): void {
    const { log } = this.#deps;
    for (const { code, severity, since, owner, message, remedy } of next.causes) {
      if (this.#since.has(code)) continue;
      this.#since.set(code, since ?? this.#deps.now());
      log[severity === 'critical' ? 'error' : 'warn']({ cause: code, owner, since }, `${message} ${remedy}`);
    }
    for (const code of CAUSE_CODES) {
      if (next.causes.some((cause) => cause.code === code) || !this.#since.delete(code)) continue;
      log.info({ cause: code }, 'this cause has ended');
    }
    if (next.state !== this.#logged) log.info({ state: next.state }, `the mirror is ${next.state}`);
    this.#logged = next.state;
  }

  /** As SQL readers judge the heartbeat, but a fault is known at once. */
  #isCurrent({ atMs }: Decision): boolean {
    return this.#deps.now() - atMs <= HEARTBEAT_MS && (this.#deps.writer?.fault ?? null) === null;
  }

  #decide(
    nowMs: number,
    file: StateFacts | null,
    { isReady, error }: { readonly isReady: boolean; readonly error: StoreError | null },
  ): MirrorState {
    const own = { ...this.#facts(nowMs, error), isReady };
    return stateOf({ nowMs, file, own, pendingReads: this.#deps.status()?.pending_reads ?? null });
  }

  #dated({ state, causes }: MirrorState): MirrorState {
    const nowMs = this.#deps.now();
    return {
      state,
      causes: causes.map((cause) => ({
        ...cause,
        since: cause.since ?? this.#since.get(cause.code) ?? nowMs,
      })),
    };
  }

  #facts(nowMs: number, error: StoreError | null): Omit<ProcessFacts, 'isReady'> {
    const silentSinceMs = Math.max(this.lastDeliveryAtMs ?? 0, this.#listeningSinceMs);
    return {
      commits: this.#commits,
      fault: this.#faultNow(nowMs, error),
      behindSinceMs: this.#behindSince(nowMs),
      blocked: this.#deps.blocked(),
      verification: this.#deps.verification(),
      clockAheadMs: this.#deps.clockAheadMs(),
      silentSinceMs: this.#history.isSilenceUnusual(silentSinceMs, nowMs) ? silentSinceMs : null,
      badSignatures: this.#signatures.bad(nowMs),
      turnedAwayAtMs: this.#turnedAwayAtMs,
      misdirected: this.#misdirected,
      stream: this.#deps.stream?.() ?? null,
      isMirror: this.#deps.writer !== null,
    };
  }

  #faultNow(nowMs: number, error: StoreError | null): ProcessFacts['fault'] {
    const fault = this.#deps.writer?.fault ?? error;
    if (fault === null) return (this.#fault = null);
    const { kind, message } = fault;
    return (this.#fault = { kind, message, sinceMs: this.#fault?.sinceMs ?? nowMs });
  }

  #behindSince(nowMs: number): number | null {
    const { lastSeq } = this.#deps.inbox;
    const inboxSeq = this.#deps.writer?.position.inboxSeq ?? lastSeq;
    if (inboxSeq >= this.#awaited.seq) this.#awaited = { seq: lastSeq, atMs: nowMs };
    return inboxSeq >= lastSeq ? null : this.#awaited.atMs;
  }
}
