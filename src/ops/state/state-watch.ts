/** Collects the facts behind the state; once a second decides the state and logs its changes. */
import type { Logger } from '../../platform/log.ts';
import type { StoreReader, StoreWriter } from '../../mirror/mirror.ts';
import { StoreError, type PlainError } from '../../sqlite/errors.ts';
import type { StreamFacts } from '../../stream/stream.ts';
import { CAUSE_CODES, type CauseCode } from './causes.ts';
import { Signatures } from './signatures.ts';
import { DeliveryHistory } from './silence.ts';
import { stateOf, type MirrorState, type ProcessFacts, type StatusFacts } from './state.ts';
import type { Blocked } from './store-cause.ts';
import type { VerificationBound } from './verification-cause.ts';

export interface StateWatchDeps {
  /** null, as `writer`, if this host only receives. */
  readonly reader: StoreReader | null;
  readonly inbox: { readonly lastSeq: number };
  readonly writer: Pick<StoreWriter, 'position' | 'fault'> | null;
  readonly now: () => number;
  readonly log: Logger;
  readonly blocked: () => Blocked | null;
  readonly clockAheadMs: () => number | null;
  /** null if nothing is verified by schedule. */
  readonly verification: () => VerificationBound | null;
  /** null if no stream is configured. */
  readonly stream: (() => StreamFacts) | null;
  readonly status: () => (StatusFacts & { readonly last_delivery_at: number | null }) | null;
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
    return this.of(this.#deps.status());
  }

  get lastDeliveryAtMs(): number | null {
    const own = this.#lastDeliveryAtMs;
    const applied = this.#deps.status()?.last_delivery_at ?? null;
    // Other receivers' deliveries come through the stream. Without one, tests by `send` must not hide a silence.
    if (own === null || (this.#deps.stream !== null && (applied ?? 0) > own)) return applied;
    return own;
  }

  /** @param status as just read, or the error that prevented it; null if not read yet. */
  of(status: StatusFacts | StoreError | null): MirrorState {
    const nowMs = this.#deps.now();
    const error = status instanceof StoreError ? status : null;
    const own = this.#facts(nowMs, error);
    const { state, causes } = stateOf({
      ...{ nowMs, own, isHeld: false },
      status: error === null ? (status as StatusFacts) : null,
    });
    return {
      state,
      causes: causes.map((cause) => ({
        ...cause,
        since: cause.since ?? this.#since.get(cause.code) ?? nowMs,
      })),
    };
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

  #facts(nowMs: number, error: StoreError | null): ProcessFacts {
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
