/**
 * How much may be asked of the store now (docs/architecture.md#rates): adaptive concurrency under a
 * ceiling, an even rate, a pause when the store asks for one, a circuit breaker when it fails. One for everything
 * that is sent.
 */
import { CLOSED, failed, mayCall, probing, succeeded, type Breaker } from '../traffic/breaker.ts';
import { afterOverload, afterSuccess, allowed, startConcurrency } from '../traffic/concurrency.ts';
import { refill, startRate, take } from '../traffic/rate.ts';
import { ServiceError } from '../store-api/transport/errors.ts';
import { createPause, type Pause } from './pause.ts';

interface ThrottleDeps {
  readonly now: () => number;
  readonly random: () => number;
  readonly maxConcurrency: number;
  readonly maxRps: number;
  /** Host and port of the store, for people. */
  readonly storeAt?: string | undefined;
  /** Called when something that holds everything back begins or ends. */
  readonly onBlocked: (why: Blocked | null) => void;
}

/** Why nothing is sent at the moment. */
export interface Blocked {
  readonly kind: 'credentials' | 'breaker' | 'rate_limited' | 'wrong_store';
  readonly message: string;
  /** Null: until an operator's command. */
  readonly untilMs: number | null;
  /** Since when requests have been failing so. */
  readonly sinceMs: number;
  /** Host and port of the store; unknown where nobody told. */
  readonly at?: string;
  readonly failure?: Failure;
}

/** What the last request met. */
interface Failure {
  readonly kind: string;
  /** Null: there was no answer. */
  readonly status: number | null;
  /** The network's, such as `ECONNREFUSED`. */
  readonly code: string | null;
}

type Reason = Omit<Blocked, 'sinceMs' | 'at'>;

const BREAKER = { failures: 5, backoff: { baseMs: 1_000, capMs: 30_000 } };
/** During a credential lockout no request is made; this often the token file is checked for its end. */
const LOCKOUT_CHECK_MS = 5_000;
/** Also where the store says `Retry-After: 0`, or names a moment that is past. */
const MIN_PAUSE_MS = 1_000;
const TURN_CHECK_MS = 20;

export class Throttle {
  readonly #deps: ThrottleDeps;
  #breaker: Breaker = CLOSED;
  #concurrency;
  #rate;
  #inFlight = 0;
  #blocked: Blocked | null = null;
  #resumeAtMs = 0;
  #answeredAtMs = 0;
  /** The first failure since the last answer; null: there was none. */
  #failingSinceMs: number | null = null;
  #failing: Blocked | null = null;
  /** The store asked for no request before this time. */
  #pausedUntilMs = 0;
  /** Requests that wait for their turn. */
  readonly #waiting = new Set<Pause>();

  constructor(deps: ThrottleDeps) {
    this.#deps = deps;
    this.#concurrency = startConcurrency(deps.maxConcurrency);
    this.#rate = startRate(deps.now());
  }

  get blocked(): Blocked | null {
    return this.#blocked;
  }

  /** What the latest request met, before it is certain that the store is down; null: it was answered. */
  get failing(): Blocked | null {
    return this.#blocked ?? this.#failing;
  }

  /** When a request was last answered, even if refused. */
  get answeredAtMs(): number {
    return this.#answeredAtMs;
  }

  get concurrencyLimit(): number {
    return allowed(this.#concurrency);
  }

  /** How many requests may be sent now, after those that wait for their turn. */
  free(): number {
    return Math.max(0, this.#slots() - this.#waiting.size);
  }

  /** Waits until a request may be sent, ahead of callers that only ask what is free. @throws the signal's reason. */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const pause = createPause();
    const wake = (): void => pause.wake();
    this.#waiting.add(pause);
    signal.addEventListener('abort', wake);
    try {
      while (this.#slots() === 0) {
        await pause.wait(TURN_CHECK_MS);
        signal.throwIfAborted();
      }
    } finally {
      this.#waiting.delete(pause);
      signal.removeEventListener('abort', wake);
    }
  }

  #slots(): number {
    const nowMs = this.#deps.now();
    if (this.#blocked?.kind === 'wrong_store' || nowMs < this.#resumeAtMs || this.#isPaused()) return 0;
    const permission = mayCall(this.#breaker, nowMs);
    if (permission === 'no') return 0;
    this.#rate = refill(this.#rate, this.#deps.maxRps, nowMs);
    const slots = permission === 'probe' ? 1 - this.#inFlight : allowed(this.#concurrency) - this.#inFlight;
    return Math.max(0, Math.min(slots, Math.floor(this.#rate.tokens)));
  }

  /**
   * Sends one request, which `free()` or `turn()` has allowed, and learns from its outcome.
   *
   * @param request may call `arrived` once its answer is here: the next one need not wait until it is parsed.
   */
  async send<T>(request: (arrived: () => void) => Promise<T>): Promise<T> {
    const sentAtMs = this.#deps.now();
    if (mayCall(this.#breaker, sentAtMs) === 'probe') this.#breaker = probing(this.#breaker);
    this.#rate = take(this.#rate);
    this.#inFlight += 1;
    let isInFlight = true;
    const arrived = (): void => {
      if (!isInFlight) return;
      isInFlight = false;
      this.#inFlight -= 1;
      for (const pause of this.#waiting) pause.wake();
    };
    try {
      const answer = await request(arrived);
      this.#succeed();
      return answer;
    } catch (error) {
      this.#learn(error, sentAtMs);
      throw error;
    } finally {
      arrived();
    }
  }

  /** Another store answered than the one mirrored: nothing more is asked until the mirror is started again. */
  stopForWrongStore(message: string): void {
    this.#block({ kind: 'wrong_store', message, untilMs: null });
  }

  /**
   * An operator's command: what holds requests back is tried again at once, except a wrong store and a requested
   * pause.
   */
  release(): void {
    if (this.#blocked?.kind === 'wrong_store') return;
    this.#breaker = CLOSED;
    this.#resumeAtMs = 0;
    if (!this.#isPaused()) this.#unblock();
  }

  #isPaused(): boolean {
    return this.#deps.now() < this.#pausedUntilMs;
  }

  #succeed(): void {
    this.#answeredAtMs = this.#deps.now();
    this.#failingSinceMs = null;
    this.#failing = null;
    this.#breaker = succeeded();
    this.#concurrency = afterSuccess(this.#concurrency, this.#deps.maxConcurrency);
    if (this.#blocked?.kind !== 'wrong_store' && !this.#isPaused()) this.#unblock();
  }

  #learn(error: unknown, sentAtMs: number): void {
    const nowMs = this.#deps.now();
    if (!(error instanceof ServiceError)) {
      // A fault on this side. It shows nothing about the store, but a probe must end all the same.
      if (this.#breaker.kind === 'probing') this.#fail({ message: String(error) }, nowMs);
      return;
    }
    switch (error.kind) {
      case 'rejected':
        // The store works: it has answered.
        this.#succeed();
        return;
      case 'aborted':
        if (this.#breaker.kind === 'probing') this.#fail({ message: error.message }, nowMs);
        return;
      case 'credentials':
        this.#resumeAtMs = nowMs + LOCKOUT_CHECK_MS;
        this.#endProbe(error, nowMs);
        this.#block({ kind: 'credentials', ...wordsOf(error), untilMs: null });
        return;
      case 'rate_limited': {
        this.#concurrency = afterOverload(this.#concurrency, sentAtMs, nowMs);
        const pauseMs = Math.max(MIN_PAUSE_MS, error.retryAfterMs ?? 0);
        this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + pauseMs);
        this.#endProbe(error, nowMs);
        this.#block({ kind: 'rate_limited', ...wordsOf(error), untilMs: this.#pausedUntilMs });
        return;
      }
      case 'unavailable':
        this.#concurrency = afterOverload(this.#concurrency, sentAtMs, nowMs);
        this.#fail(wordsOf(error), nowMs);
        return;
      case 'unauthorized':
      case 'contract':
        this.#fail(wordsOf(error), nowMs);
    }
  }

  /** A probe that was answered by a request to wait has not shown that the store works. */
  #endProbe(error: ServiceError, nowMs: number): void {
    if (this.#breaker.kind === 'probing') this.#fail(wordsOf(error), nowMs);
  }

  #fail(why: Pick<Blocked, 'message' | 'failure'>, nowMs: number): void {
    this.#failingSinceMs ??= nowMs;
    this.#failing = this.#told({ kind: 'breaker', ...why, untilMs: null }, this.#failingSinceMs);
    this.#breaker = failed(this.#breaker, BREAKER, nowMs, this.#deps.random());
    if (this.#breaker.kind !== 'open') return;
    this.#block({ kind: 'breaker', ...why, untilMs: this.#breaker.probeAtMs });
  }

  #block(why: Reason): void {
    const { now, onBlocked } = this.#deps;
    const before = this.#blocked?.kind === why.kind ? this.#blocked : null;
    const sinceMs = before?.sinceMs ?? this.#failingSinceMs ?? now();
    this.#blocked = this.#told(why, sinceMs);
    if (before === null) onBlocked(this.#blocked);
  }

  #told(why: Reason, sinceMs: number): Blocked {
    const { storeAt } = this.#deps;
    return { ...why, sinceMs, ...(storeAt === undefined ? {} : { at: storeAt }) };
  }

  #unblock(): void {
    if (this.#blocked === null) return;
    this.#blocked = null;
    this.#deps.onBlocked(null);
  }
}

function wordsOf({ message, kind, status, cause }: ServiceError): Pick<Blocked, 'message' | 'failure'> {
  const code =
    cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : null;
  return { message, failure: { kind, status: status ?? null, code } };
}
