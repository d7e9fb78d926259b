/**
 * Limits requests to the store by concurrency, rate, requested
 * pauses and a breaker (docs/architecture.md#rates).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fullJitterMs } from '../store-api/backoff.ts';
import { messageOf } from '../platform/thrown.ts';
import type { Blocked } from '../store-api/blocked.ts';
import { ServiceError } from '../store-api/transport/errors.ts';

interface ThrottleDeps {
  /** Epoch ms, for what is shown or stored. This clock may step back. */
  readonly now: () => number;
  readonly random: () => number;
  readonly maxConcurrency: number;
  readonly maxRps: number;
  readonly storeAt?: string | undefined;
  readonly onBlocked?: (why: Blocked | null) => void;
  /** Otherwise nothing is sent. */
  readonly mayRead?: () => boolean;
}

/** Consecutive failures that open the breaker; then one probe at a time is sent. */
const BREAKER_FAILURES = 5;
const PROBE = { baseMs: 1_000, capMs: 30_000 };
/** During a credential lockout, how often to check the token file for its end. */
const LOCKOUT_CHECK_MS = 5_000;
const MIN_PAUSE_MS = 1_000;
const TURN_CHECK_MS = 20;
/** Share of a second's requests that may be sent at once. */
const BURST_SECONDS = 0.1;

/**
 * Instants are by the monotonic clock unless they say that they are of the epoch: the own clock may step back
 * by hours.
 */
export class Throttle {
  readonly #deps: ThrottleDeps;
  /** Additive increase, multiplicative decrease. Rounded down, the limit of requests in flight. */
  #concurrency: number;
  /** Requests sent before this do not lower the concurrency again: one overload counts once. */
  #loweredAtMs = 0;
  #tokens = 1;
  #tokensAtMs: number;
  #failures = 0;
  /** Openings of the breaker since the last success; 0 if closed. */
  #opens = 0;
  /**
   * Nothing is sent before this: the next probe, or look at the token file. An operator's request ends it.
   */
  #heldUntilMs = 0;
  #pausedUntilMs = 0;
  #inFlight = 0;
  #waiting = 0;
  #blocked: Blocked | null = null;
  /** Epoch ms. */
  #answeredAtMs = 0;
  /** Epoch ms. */
  #failingSinceMs: number | null = null;

  constructor(deps: ThrottleDeps) {
    this.#deps = deps;
    this.#concurrency = Math.min(2, deps.maxConcurrency);
    this.#tokensAtMs = performance.now();
  }

  get blocked(): Blocked | null {
    return this.#blocked;
  }

  /** Epoch ms when the store last answered a request, even with a refusal; 0 if the clock stepped back since. */
  get answeredAtMs(): number {
    return this.#answeredAtMs <= this.#deps.now() ? this.#answeredAtMs : 0;
  }

  /** Requests that may be sent now, after the waiting callers'. */
  free(): number {
    return Math.max(0, this.#slots() - this.#waiting);
  }

  /**
   * When the next request may be sent at the earliest, from now; 0 also while others in flight prevent it.
   */
  freeInMs(): number {
    const tokenInMs = ((1 - this.#tokens) * 1000) / this.#deps.maxRps;
    const heldMs = Math.max(this.#pausedUntilMs, this.#heldUntilMs) - performance.now();
    return Math.ceil(Math.max(0, tokenInMs, heldMs));
  }

  /** Waits until a request may be sent, ahead of callers of `free()`. @throws AbortError. */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#waiting += 1;
    try {
      while (this.#slots() === 0) await sleep(TURN_CHECK_MS, undefined, { signal });
    } finally {
      this.#waiting -= 1;
    }
  }

  #slots(): number {
    const { maxRps } = this.#deps;
    const nowMs = performance.now();
    const elapsedMs = Math.max(0, nowMs - this.#tokensAtMs);
    this.#tokens = Math.min(Math.max(1, maxRps * BURST_SECONDS), this.#tokens + (elapsedMs * maxRps) / 1000);
    this.#tokensAtMs = nowMs;
    if (this.#deps.mayRead?.() === false) return 0;
    if (this.#blocked?.kind === 'wrong_store' || this.#isPaused() || nowMs < this.#heldUntilMs) return 0;
    const allowed = this.#opens > 0 ? 1 : Math.max(1, Math.floor(this.#concurrency));
    return Math.max(0, Math.min(allowed - this.#inFlight, Math.floor(this.#tokens)));
  }

  async send<T>(request: () => Promise<T>): Promise<T> {
    const sentAtMs = performance.now();
    this.#tokens -= 1;
    this.#inFlight += 1;
    try {
      const answer = await request();
      this.#succeed();
      return answer;
    } catch (error) {
      this.#learn(error, sentAtMs);
      throw error;
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** Blocks everything until the mirror is restarted: the answer is another store's. */
  stopForWrongStore(message: string): void {
    this.#block({ kind: 'wrong_store', message });
  }

  /**
   * For an operator's request: tries again at once, except after
   * a wrong store and during a requested pause.
   */
  release(): void {
    this.#failures = 0;
    this.#opens = 0;
    this.#heldUntilMs = 0;
    if (this.#blocked === null || this.#blocked.kind === 'wrong_store' || this.#isPaused()) return;
    this.#blocked = null;
    this.#deps.onBlocked?.(null);
  }

  #isPaused(): boolean {
    return performance.now() < this.#pausedUntilMs;
  }

  #succeed(): void {
    this.#answeredAtMs = this.#deps.now();
    this.#failingSinceMs = null;
    this.#concurrency = Math.min(this.#deps.maxConcurrency, this.#concurrency + 1 / this.#concurrency);
    this.release();
  }

  #learn(error: unknown, sentAtMs: number): void {
    const nowMs = performance.now();
    // A local fault shows nothing about the store.
    const kind = error instanceof ServiceError ? error.kind : 'aborted';
    const why = failureOf(error);
    if (kind === 'rate_limited' || kind === 'unavailable') this.#lower(sentAtMs, nowMs);
    switch (kind) {
      case 'rejected':
      case 'too_large':
        this.#succeed();
        return;
      case 'credentials':
        this.#heldUntilMs = nowMs + LOCKOUT_CHECK_MS;
        this.#block({ kind, ...why });
        return;
      case 'rate_limited': {
        const pauseMs = Math.max(MIN_PAUSE_MS, (error as ServiceError).retryAfterMs ?? 0);
        this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + pauseMs);
        this.#block({ kind, ...why });
        return;
      }
      case 'aborted':
        // Space probes even if they are aborted.
        if (this.#opens > 0) this.#fail(why, sentAtMs, nowMs);
        return;
      case 'unavailable':
      case 'unauthorized':
      case 'contract':
        this.#fail(why, sentAtMs, nowMs);
    }
  }

  #lower(sentAtMs: number, nowMs: number): void {
    if (sentAtMs < this.#loweredAtMs) return;
    this.#concurrency = Math.max(1, this.#concurrency / 2);
    this.#loweredAtMs = nowMs;
  }

  #fail(why: Pick<Blocked, 'message' | 'failure'>, sentAtMs: number, nowMs: number): void {
    this.#failingSinceMs ??= this.#deps.now();
    this.#failures += 1;
    if (this.#failures < BREAKER_FAILURES) return;
    // A request sent before the breaker opened shows nothing new.
    if (this.#opens === 0 || sentAtMs >= this.#heldUntilMs) {
      this.#opens += 1;
      this.#heldUntilMs = nowMs + fullJitterMs(this.#opens, PROBE, this.#deps.random());
    }
    this.#block({ kind: 'breaker', ...why });
  }

  #block(why: Omit<Blocked, 'sinceMs' | 'at'>): void {
    if (this.#blocked?.kind === 'wrong_store') return;
    const { now, onBlocked, storeAt } = this.#deps;
    const before = this.#blocked?.kind === why.kind ? this.#blocked : null;
    const at = storeAt === undefined ? {} : { at: storeAt };
    const sinceMs = before?.sinceMs ?? this.#failingSinceMs ?? now();
    this.#blocked = { ...why, sinceMs, ...at };
    if (before === null) onBlocked?.(this.#blocked);
  }
}

function failureOf(error: unknown): Pick<Blocked, 'message' | 'failure'> {
  if (!(error instanceof ServiceError)) return { message: messageOf(error) };
  const { message, kind, status = null, cause } = error;
  const code = (cause as NodeJS.ErrnoException | undefined)?.code ?? null;
  return { message, failure: { kind, status, code } };
}
