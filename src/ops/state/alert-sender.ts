/** Sends alerts to ALERT_URL and pings to ALERT_PING_URL, where no Prometheus watches (docs/operating.md#metrics-and-alerts). */
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../../platform/log.ts';
import type { Secret } from '../../platform/secret.ts';
import { CAUSES, hasTrait, type Cause, type CauseCode, type CauseRow } from './causes.ts';
import type { Verdict } from './state.ts';

interface Sent {
  readonly method: 'GET' | 'POST';
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

interface AlertSenderOptions {
  /** It may contain a token, like `pingUrl`. */
  readonly url: Secret | null;
  readonly pingUrl: Secret | null;
  /** Like Node's `fetch`, through the environment's proxy. */
  readonly send: (
    url: string,
    init: Sent & { readonly signal: AbortSignal },
  ) => Promise<{ readonly status: number }>;
  /** Own clock, epoch ms, as of the causes. */
  readonly now: () => number;
  readonly log: Logger;
  readonly firstRetryMs?: number;
}

const PING_EVERY_MS = 60_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
const ANSWER_WITHIN_MS = 10_000;
/** Older messages are dropped while the receiver of the alerts is away for long. */
const MOST_WAITING = 100;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** How long the cause lasts before it is an alert; null if it never is one. */
export function alertAfterMs(code: CauseCode): number | null {
  const { severity, alertAfter }: CauseRow = CAUSES[code];
  if (alertAfter === null || (severity !== 'critical' && !hasTrait(code, 'isUrgent'))) return null;
  const unitMs = UNIT_MS[alertAfter.slice(-1)];
  if (unitMs === undefined) throw new Error(`the cause ${code} has an alert after ${alertAfter}`);
  return Number.parseInt(alertAfter, 10) * unitMs;
}

/** Announces each urgent cause when it has lasted for its time, and its end. A restart announces it again. */
export class AlertSender {
  readonly #options: AlertSenderOptions;
  readonly #announced = new Map<CauseCode, Cause>();
  readonly #stopping = new AbortController();
  #waiting: string[] = [];
  #isSending = false;
  #pingedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: AlertSenderOptions) {
    this.#options = options;
  }

  /** Call it once a second with what every face shows. */
  readonly observe = ({ causes }: Verdict): void => {
    const nowMs = this.#options.now();
    for (const cause of causes) {
      const afterMs = alertAfterMs(cause.code);
      if (afterMs === null || this.#announced.has(cause.code)) continue;
      if (nowMs < (cause.since ?? nowMs) + afterMs) continue;
      this.#announced.set(cause.code, cause);
      this.#enqueue('begun', cause, nowMs);
    }
    for (const [code, cause] of this.#announced) {
      if (causes.some((each) => each.code === code)) continue;
      this.#announced.delete(code);
      this.#enqueue('ended', cause, nowMs);
    }
    const { pingUrl } = this.#options;
    // Never steps: pings must not stop when a clock that was ahead is set back.
    const atMs = performance.now();
    if (pingUrl === null || atMs < this.#pingedAtMs + PING_EVERY_MS) return;
    this.#pingedAtMs = atMs;
    void this.#ping(pingUrl);
  };

  stop(): void {
    this.#stopping.abort();
  }

  #enqueue(status: 'begun' | 'ended', cause: Cause, nowMs: number): void {
    const { url } = this.#options;
    if (url === null) return;
    const { code, severity, owner, message, remedy, since } = cause;
    const host = hostname();
    const text =
      status === 'begun'
        ? `stock-mirror on ${host}: ${code}. ${message} ${remedy}`
        : `stock-mirror on ${host}: ${code} has ended.`;
    const times = { since: new Date(since ?? nowMs).toISOString(), at: new Date(nowMs).toISOString() };
    const alert = { status, cause: code, severity, owner, host, ...times, message, remedy, text };
    this.#waiting = [...this.#waiting, JSON.stringify(alert)].slice(-MOST_WAITING);
    if (!this.#isSending) void this.#sendAll(url);
  }

  /** In order, each until it is taken, or refused for good. */
  async #sendAll(url: Secret): Promise<void> {
    const { log, firstRetryMs = FIRST_RETRY_MS } = this.#options;
    const { signal } = this.#stopping;
    this.#isSending = true;
    for (let retryMs = firstRetryMs; !signal.aborted;) {
      const [body] = this.#waiting;
      if (body === undefined) break;
      const problem = await this.#request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      if (problem === null || problem.isFinal) {
        if (problem !== null) log.error(`ALERT_URL has refused an alert for good: ${problem.text}`);
        this.#waiting = this.#waiting.filter((each) => each !== body);
        retryMs = firstRetryMs;
        continue;
      }
      log.warn(`an alert could not be sent to ALERT_URL and is sent again: ${problem.text}`);
      await wait(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
      retryMs = Math.min(LONGEST_RETRY_MS, 2 * retryMs);
    }
    this.#isSending = false;
  }

  async #ping(url: Secret): Promise<void> {
    const problem = await this.#request(url, { method: 'GET' });
    if (problem !== null) this.#options.log.warn(`ALERT_PING_URL did not take a ping: ${problem.text}`);
  }

  /** @returns null if the target has taken it. Neither text nor log shows the address. */
  async #request(
    url: Secret,
    init: Sent,
  ): Promise<{ readonly text: string; readonly isFinal: boolean } | null> {
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
    try {
      const { status } = await this.#options.send(url.reveal(), { ...init, signal });
      if (status >= 200 && status < 300) return null;
      const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
      return { text: `HTTP ${status}`, isFinal };
    } catch (error) {
      if (signal.aborted) return { text: `no answer within ${ANSWER_WITHIN_MS / 1_000} s`, isFinal: false };
      const cause = error instanceof Error ? (error.cause as { code?: string } | undefined) : undefined;
      return { text: cause?.code ?? 'the request failed', isFinal: false };
    }
  }
}
