/**
 * Watches the event log's thread from its owner's side: how many inputs a transaction took, how long, and whether it
 * failed. The thread itself does not know of it.
 */
import type { PlainError } from '../sqlite/errors.ts';
import type { FromLog, ToLog } from './append-loop.ts';
import type { Thread } from '../platform/thread.ts';

export interface CommitReport {
  /** Deliveries, other entries and heartbeats that the transaction took. */
  readonly inputs: number;
  /** From the end of the transaction before it, or from its first input when the thread was idle. */
  readonly tookMs: number;
  /** Null: every input is on disk. */
  readonly error: PlainError | null;
}

/** @param onCommit called after the waiting callers have been answered. */
export function watchCommits(
  thread: Thread<ToLog, FromLog>,
  onCommit: (report: CommitReport) => void,
): Thread<ToLog, FromLog> {
  let waiting = 0;
  let busySinceMs = 0;
  const observe = (message: FromLog): void => {
    const inputs = outputsOf(message);
    if (inputs === 0) return;
    const nowMs = performance.now();
    const tookMs = nowMs - busySinceMs;
    waiting -= inputs;
    busySinceMs = nowMs;
    onCommit({ inputs, tookMs, error: message.type === 'failed' ? message.error : null });
  };
  return {
    post: (message, handOver) => {
      const inputs = inputsOf(message);
      if (waiting === 0 && inputs > 0) busySinceMs = performance.now();
      waiting += inputs;
      thread.post(message, handOver);
    },
    onMessage: (listener) =>
      thread.onMessage((message) => {
        listener(message);
        observe(message);
      }),
    onEnd: (listener) => thread.onEnd(listener),
    stop: () => thread.stop(),
  };
}

/** How many inputs of a transaction a message brings. */
function inputsOf(message: ToLog): number {
  switch (message.type) {
    case 'deliveries':
      return message.ends.length;
    case 'entry':
    case 'beat':
    case 'prune':
    case 'begin_epoch':
      return 1;
    case 'close':
      return 0;
  }
}

/** And how many it answers. */
function outputsOf(message: FromLog): number {
  switch (message.type) {
    case 'appended':
      return (message.placed.length + message.duplicates.length) / 2;
    case 'failed':
      return message.ids.length;
    case 'done':
      return 1;
    case 'opened':
    case 'refused':
    case 'closed':
      return 0;
  }
}
