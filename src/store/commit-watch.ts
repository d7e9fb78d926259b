/**
 * Watches the writer's thread from its owner's side: how many inputs a transaction took, how long, and whether it
 * failed. The writer itself does not know of it.
 */
import type { Thread } from './thread.ts';
import type { FromWriter, PlainError, ToWriter } from './write-loop.ts';

export interface CommitReport {
  /** Deliveries, entries and commands that the transaction took. */
  readonly inputs: number;
  /** From the end of the transaction before it, or from its first input when the writer was idle. */
  readonly tookMs: number;
  /** Null: every input is on disk. */
  readonly error: PlainError | null;
}

/** @param onCommit called after the waiting callers have been answered. */
export function watchCommits(
  thread: Thread<ToWriter, FromWriter>,
  onCommit: (report: CommitReport) => void,
): Thread<ToWriter, FromWriter> {
  let waiting = 0;
  let busySinceMs = 0;
  /** Requests to the writer that are answered without a transaction. */
  const questions = new Set<number>();
  const observe = (message: FromWriter): void => {
    if (message.type !== 'outcomes') return;
    const { stored, outcomes } = message;
    const inputs = stored.length / 2 + outcomes.length;
    const [first] = outcomes;
    if (inputs === 0 || (first !== undefined && questions.delete(first.id))) return;
    const nowMs = performance.now();
    const tookMs = nowMs - busySinceMs;
    waiting -= inputs;
    busySinceMs = nowMs;
    const failed = outcomes.find((outcome) => !outcome.ok);
    onCommit({ inputs, tookMs, error: failed?.error ?? null });
  };
  return {
    post: (message, handOver) => {
      if (message.type === 'counts') questions.add(message.id);
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
  };
}

/** How many inputs of a transaction a message brings. */
function inputsOf(message: ToWriter): number {
  switch (message.type) {
    case 'deliveries':
      return message.ends.length;
    case 'others':
      return message.inputs.length;
    case 'counts':
    case 'restart':
    case 'close':
      return 0;
  }
}
