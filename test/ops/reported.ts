/** Heartbeats of a receiver, as the mirror finds them in the inbox. */
import type { ReceiverRow } from '../../src/inbox/inbox-file.ts';
import {
  ANSWER_BOUNDS_SECONDS,
  COMMIT_BOUNDS_SECONDS,
  type ReceiverReport,
  type RefusalReason,
  type StreamReport,
} from '../../src/inbox/report.ts';
import type { Monitor } from '../../src/ops/monitor.ts';

const none = (bounds: readonly number[]) => ({ buckets: [...bounds, 0].map(() => 0), sumSeconds: 0 });

export const REPORT: ReceiverReport = {
  runId: 'run',
  accepted: { count: 0, lastAtMs: null },
  refused: [],
  claims: [],
  answers: none(ANSWER_BOUNDS_SECONDS),
  slowestMs: null,
  commits: none(COMMIT_BOUNDS_SECONDS),
  lastSeq: 0,
  stream: null,
};

/** A stream in which nothing is wrong. */
export const STREAM: StreamReport = {
  silentSinceMs: null,
  failure: null,
  backlogSinceMs: null,
  hasCaughtUp: true,
  unpublishedRows: 0,
  unpublishedSinceMs: null,
  setAside: null,
};

/** @param atMs the heartbeat's, by both clocks. */
export function heartbeat(atMs: number, over: Partial<ReceiverReport> = {}): ReceiverRow {
  return {
    inboxId: 'inbox',
    aliveAtMs: atMs,
    clockMs: atMs,
    sinceBootMs: 1,
    bootId: 'boot',
    isStopped: false,
    keptSocket: null,
    unsureSinceMs: null,
    publishedSeq: 0,
    streamId: null,
    streamSeq: 0,
    reportJson: JSON.stringify({ ...REPORT, ...over }),
  };
}

const STATUS: Partial<Record<RefusalReason, number>> = { not_stored: 503, no_room: 503, wrong_address: 404 };

/** A receiver that has refused `count` requests for one reason. */
export function refused(
  monitor: Pick<Monitor, 'receive'>,
  atMs: number,
  counts: Partial<Record<RefusalReason, number>>,
): void {
  const refusals = Object.entries(counts).map(([name, count]) => {
    const reason = name as RefusalReason;
    return { reason, status: STATUS[reason] ?? 401, count, lastAtMs: atMs, seen: null };
  });
  monitor.receive(heartbeat(atMs, { refused: refusals }));
}
