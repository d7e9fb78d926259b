import type { StreamReport } from '../inbox/report.ts';

/** The part that shares deliveries with other hosts (docs/architecture.md#several-machines). */
export interface SharedStream {
  /** Call it once the port is open, if there is one. */
  readonly start: () => void;
  readonly report: () => StreamReport;
  /** Every row up to this one is in the stream, or came from it. */
  readonly publishedSeq: () => number;
  /** Something was stored that waits to be published. */
  readonly arrived: () => void;
  /** The port is about to close. */
  readonly closing: () => Promise<void>;
  /** The port is closed, and nothing is received any more: publishes the rest, if it takes no longer than a second. */
  readonly stop: () => Promise<void>;
}
