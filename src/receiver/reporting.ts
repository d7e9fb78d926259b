/** Counts what the report says (src/inbox/report.ts). */
import { randomBytes } from 'node:crypto';
import {
  ANSWER_BOUNDS_SECONDS,
  COMMIT_BOUNDS_SECONDS,
  type Durations,
  type ReceiverReport,
  type RefusalCount,
  type RefusalReason,
  type StreamReport,
} from '../inbox/report.ts';
import { RefusedClaims } from './refused-claims.ts';

/** Requests without a complete body or with a wrong signature took no commit. */
const WITH_COMMIT: ReadonlySet<RefusalReason> = new Set(['not_stored', 'late']);

export interface Refusal {
  readonly reason: RefusalReason;
  /** 0: no answer could be sent. */
  readonly status: number;
  readonly tookMs: number;
  /** Method and path, the protocol, or the parser's code. */
  readonly seen?: string;
  /** A body that was read, though its signature is missing or wrong. */
  readonly body?: Uint8Array;
}

export class Reporting {
  readonly #now: () => number;
  readonly #runId = randomBytes(8).toString('hex');
  readonly #refused = new Map<string, RefusalCount>();
  readonly #claims = new RefusedClaims();
  readonly #answers = new Timings(ANSWER_BOUNDS_SECONDS);
  readonly #commits = new Timings(COMMIT_BOUNDS_SECONDS);
  #accepted: ReceiverReport['accepted'] = { count: 0, lastAtMs: null };
  #slowestMs: number | null = null;

  constructor(now: () => number) {
    this.#now = now;
  }

  accepted({ tookMs, isTest }: { readonly tookMs: number; readonly isTest: boolean }): void {
    if (!isTest) this.#accepted = { count: this.#accepted.count + 1, lastAtMs: this.#now() };
    this.#answered(tookMs);
  }

  refused({ reason, status, tookMs, seen, body }: Refusal): void {
    const key = `${reason} ${status}`;
    const count = (this.#refused.get(key)?.count ?? 0) + 1;
    this.#refused.set(key, { reason, status, count, lastAtMs: this.#now(), seen: seen ?? null });
    if (body !== undefined) this.#claims.refused(body);
    if (WITH_COMMIT.has(reason)) this.#answered(tookMs);
  }

  committed(tookMs: number): void {
    this.#commits.add(tookMs);
  }

  /** The report of this moment. Call `written` once it is on disk. */
  report(lastSeq: number, stream: StreamReport | null): ReceiverReport {
    return {
      runId: this.#runId,
      accepted: this.#accepted,
      refused: [...this.#refused.values()],
      claims: this.#claims.latest,
      answers: this.#answers.counts(),
      slowestMs: this.#slowestMs,
      commits: this.#commits.counts(),
      lastSeq,
      stream,
    };
  }

  /** Call it once the last report is on disk: resets the values that cover the time since then. */
  written(): void {
    this.#slowestMs = null;
    this.#claims.written();
  }

  #answered(tookMs: number): void {
    this.#answers.add(tookMs);
    this.#slowestMs = Math.max(this.#slowestMs ?? 0, tookMs);
  }
}

class Timings {
  readonly #boundsSeconds: readonly number[];
  readonly #buckets: number[];
  #sumSeconds = 0;

  constructor(boundsSeconds: readonly number[]) {
    this.#boundsSeconds = boundsSeconds;
    this.#buckets = Array.from({ length: boundsSeconds.length + 1 }, () => 0);
  }

  add(tookMs: number): void {
    const seconds = tookMs / 1_000;
    const found = this.#boundsSeconds.findIndex((bound) => seconds <= bound);
    const at = found === -1 ? this.#boundsSeconds.length : found;
    this.#buckets[at] = (this.#buckets[at] ?? 0) + 1;
    this.#sumSeconds += seconds;
  }

  counts(): Durations {
    return { buckets: [...this.#buckets], sumSeconds: this.#sumSeconds };
  }
}
