/**
 * The receiver's report about itself, written into the inbox with each heartbeat. The mirror's state, page and metrics
 * know nothing of the receiver but this. Counts are those of the receiver's process since its start.
 */
import type { MissedWhy } from '../core/input.ts';
import type { PlainError } from '../sqlite/errors.ts';

export const REFUSAL_REASONS = [
  'missing_signature',
  'malformed_signature',
  'wrong_signature',
  'too_large',
  'wrong_address',
  'wrong_protocol',
  'malformed_request',
  'cut_off',
  'not_stored',
  'late',
  'no_room',
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** Refused requests that may have been deliveries, about anything, and why the inbox says that one may be missing. */
export const DOUBTFUL = {
  cut_off: 'cut_off',
  no_room: 'turned_away',
  malformed_request: 'turned_away',
  too_large: 'turned_away',
} as const satisfies Partial<Record<RefusalReason, MissedWhy>>;

export type DoubtfulReason = keyof typeof DOUBTFUL;
export const DOUBTFUL_REASONS = Object.keys(DOUBTFUL) as readonly DoubtfulReason[];

export function isDoubtful(reason: RefusalReason): reason is DoubtfulReason {
  return Object.hasOwn(DOUBTFUL, reason);
}

export interface RefusalCount {
  /** The answer's status; 0 if there was none. */
  readonly status: number;
  readonly count: number;
  /** Epoch ms, own clock. */
  readonly lastAtMs: number;
  /** The last one's method and path, protocol, or parser's code; null if it showed none of them. */
  readonly seen: string | null;
}

/** Why a request is refused that the store itself may have sent. */
export const STORE_REFUSALS = [
  'wrong_signature',
  'missing_signature',
  'malformed_signature',
  'wrong_address',
] as const satisfies readonly RefusalReason[];

/** Refused requests that name variants. Anyone can name any: the mirror knows which are the store's. */
export interface RefusedWebhooks {
  readonly reason: (typeof STORE_REFUSALS)[number];
  readonly count: number;
  /** Epoch ms, own clock: when the first of them came. */
  readonly sinceMs: number;
  /** See `RefusalCount`. */
  readonly seen: string | null;
  /** Variants that the latest of them named: a few, newest last. */
  readonly variantIds: readonly string[];
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
  /**
   * Fingerprint of the webhook secret with which a webhook of the store was accepted, in this run or an
   * earlier one; null if none was accepted with a secret that still counts.
   */
  readonly provenSecret: string | null;
  /**
   * Epoch ms, own clock; since then the port was open without a break that may have lost a delivery. null if
   * this host has no public port.
   */
  readonly listeningSinceMs: number | null;
  /** Authentic deliveries answered 204, without those of `stock-mirror send`. */
  readonly accepted: { readonly count: number; readonly lastAtMs: number | null };
  readonly refused: Readonly<Partial<Record<RefusalReason, RefusalCount>>>;
  /**
   * Refused since a webhook of the store was last accepted, in this run or an earlier one; and until the inbox says that
   * they may have been missed.
   */
  readonly refusedWebhooks: readonly RefusedWebhooks[];
  /** Answers 204 and 503 to authentic deliveries. */
  readonly answers: Durations;
  /** The slowest answer since the last report, in ms; null if there was none. */
  readonly slowestMs: number | null;
  readonly commits: Durations;
  /** The last failure of a commit; null after a success. */
  readonly commitError: PlainError | null;
  /** Last row of the inbox, and rows that wait to be published. */
  readonly lastSeq: number;
  /** null if no stream is configured. */
  readonly stream: StreamReport | null;
}

/** Answers that are new in a report. */
export interface NewAnswers {
  readonly accepted: number;
  /** By other hosts of the stream. */
  readonly acceptedElsewhere: number;
  readonly refused: Readonly<Partial<Record<RefusalReason, number>>>;
}

/** @param before an earlier report; counts of another run of the receiver began at 0. */
export function answersSince(before: ReceiverReport | null, report: ReceiverReport): NewAnswers {
  const counted = before?.runId === report.runId ? before : null;
  const refused: Partial<Record<RefusalReason, number>> = {};
  for (const [reason, { count }] of Object.entries(report.refused)) {
    const known = reason as RefusalReason;
    refused[known] = count - (counted?.refused[known]?.count ?? 0);
  }
  return {
    accepted: report.accepted.count - (counted?.accepted.count ?? 0),
    acceptedElsewhere: (report.stream?.acceptedCount ?? 0) - (counted?.stream?.acceptedCount ?? 0),
    refused,
  };
}

export interface StreamReport {
  /** No heartbeat of any receiver has been heard since; null if one was heard lately. */
  readonly silentSinceMs: number | null;
  /** The last failure since a heartbeat was heard. */
  readonly failure: string | null;
  /** A delivery has waited at a receiver, or in the stream, since then; null if none waits for long. */
  readonly backlogSinceMs: number | null;
  /** Everything that was in the stream when this host started is in the inbox. */
  readonly hasCaughtUp: boolean;
  /** Rows here that are not in the stream yet, and the arrival of the oldest; null if none waits. */
  readonly unpublishedRows: number;
  readonly unpublishedSinceMs: number | null;
  /** The last delivery that the servers refuse for good; null if there was none since the start. */
  readonly setAside: SetAside | null;
  /** Another host that listens now has a proof of its way in. */
  readonly isProven: boolean;
  /**
   * Epoch ms, own clock. When another host last showed that it had accepted a webhook of the store, since this one's start;
   * null if none did.
   */
  readonly acceptedAtMs: number | null;
  /** How many webhooks of the store other hosts have accepted since this one's start. */
  readonly acceptedCount: number;
  /** See `ReceiverReport`; of all hosts that listen. */
  readonly refusedWebhooks: readonly RefusedWebhooks[];
}

/** Other mirrors read the variants of this delivery instead. */
export interface SetAside {
  /** Epoch ms, own clock. */
  readonly atMs: number;
  readonly requestId: string | null;
  readonly bytes: number;
}
