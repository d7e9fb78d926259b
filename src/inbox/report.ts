/**
 * The receiver's report about itself, written into the inbox with each heartbeat. The mirror's state, page and metrics
 * know nothing of the receiver but this. Counts are those of the receiver's process since its start.
 */
import type { Claim } from '../core/input.ts';

export const REFUSAL_REASONS = [
  'missing_signature',
  'malformed_signature',
  'wrong_signature',
  'too_large',
  'wrong_address',
  'wrong_protocol',
  'malformed_request',
  'cut_off',
  'no_room',
  'not_stored',
  'late',
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** The request was authentic: the inbox has it, or says that it was not stored. */
const IS_AUTHENTIC: ReadonlySet<RefusalReason> = new Set(['not_stored', 'late']);

/** Whether such a request may have been a webhook of which nothing is known here. Anyone can send one. */
export const isHint = (reason: RefusalReason): boolean => !IS_AUTHENTIC.has(reason);

/** Requests that were refused for one reason with one status. */
export interface RefusalCount {
  readonly reason: RefusalReason;
  /** The answer's status; 0 if there was none. */
  readonly status: number;
  readonly count: number;
  /** Epoch ms, own clock. */
  readonly lastAtMs: number;
  /** The last one's method and path, protocol, or parser's code; null if it showed none of them. */
  readonly seen: string | null;
}

/** The claim of a refused body. Claims are numbered from 1 in each run of the receiver. */
export interface NumberedClaim extends Claim {
  readonly seq: number;
}

/** Upper bounds in seconds, as in a histogram of Prometheus; the last bucket has no bound. */
export interface Durations {
  /** One more than there are bounds. */
  readonly buckets: readonly number[];
  readonly sumSeconds: number;
}

export const ANSWER_BOUNDS_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1, 2.5];
export const COMMIT_BOUNDS_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5];

export interface ReceiverReport {
  /** Differs after each start of the receiver: counts begin at 0 again. */
  readonly runId: string;
  /** Authentic deliveries answered 204, without those of `stock-mirror send`. */
  readonly accepted: { readonly count: number; readonly lastAtMs: number | null };
  readonly refused: readonly RefusalCount[];
  /** The latest claims of refused bodies, oldest first. */
  readonly claims: readonly NumberedClaim[];
  /** Answers 204 and 503 to authentic deliveries. */
  readonly answers: Durations;
  /** The slowest answer since the last report, in ms; null if there was none. */
  readonly slowestMs: number | null;
  readonly commits: Durations;
  /** Last row of the inbox, and rows that wait to be published. */
  readonly lastSeq: number;
  /** null if no stream is configured. */
  readonly stream: StreamReport | null;
}

/** Changes since the previous report. */
export interface ReportedSince {
  readonly accepted: number;
  readonly refused: readonly RefusalCount[];
  /** Rows of the inbox. */
  readonly arrived: number;
  readonly claims: readonly Claim[];
}

/** @param before an earlier report; counts of another run of the receiver began at 0. */
export function reportedSince(before: ReceiverReport | null, report: ReceiverReport): ReportedSince {
  const counted = before?.runId === report.runId ? before : null;
  const isSame = (a: RefusalCount, b: RefusalCount): boolean =>
    a.reason === b.reason && a.status === b.status;
  const lastClaim = counted?.claims.at(-1)?.seq ?? 0;
  return {
    accepted: report.accepted.count - (counted?.accepted.count ?? 0),
    refused: report.refused
      .map((each) => ({
        ...each,
        count: each.count - (counted?.refused.find((other) => isSame(each, other))?.count ?? 0),
      }))
      .filter(({ count }) => count > 0),
    arrived: Math.max(0, report.lastSeq - (before?.lastSeq ?? report.lastSeq)),
    claims: report.claims.filter(({ seq }) => seq > lastClaim),
  };
}

export interface StreamReport {
  /** No heartbeat of any receiver has been heard since; null if one was heard lately. */
  readonly silentSinceMs: number | null;
  /** The last failure since a heartbeat was heard. */
  readonly failure: string | null;
  /** Deliveries may have waited here, at another receiver or in the stream since then; null if none waits for long. */
  readonly backlogSinceMs: number | null;
  /** Everything that any receiver had received when this host started is in the inbox. */
  readonly hasCaughtUp: boolean;
  /** Rows here that are not in the stream yet, and the arrival of the oldest; null if none waits. */
  readonly unpublishedRows: number;
  readonly unpublishedSinceMs: number | null;
  /** The last delivery that the servers refuse for good; null if there was none since the start. */
  readonly setAside: SetAside | null;
}

/** Other mirrors read the variants of this delivery instead. */
export interface SetAside {
  /** Epoch ms, own clock. */
  readonly atMs: number;
  readonly requestId: string | null;
  readonly bytes: number;
}
