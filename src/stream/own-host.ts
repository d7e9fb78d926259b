/** This host, as the stream uses it: its receiver (src/receiver/receiver.ts). */
import type { InboxRow, InboxRowKind, StreamPosition } from '../inbox/inbox-file.ts';
import type { Missed } from '../core/input.ts';

export interface NewRow {
  readonly kind: InboxRowKind;
  readonly body: Uint8Array;
}

export interface OwnHost {
  /** Names this host among those of the stream. */
  readonly hostId: string;
  /** Epoch ms, own clock. */
  readonly now: () => number;
  /** The host's last run: where it had read the stream, and up to which row it had published. */
  readonly lastRun: StreamPosition & { readonly publishedSeq: number };
  readonly lastSeq: number;
  /** The last commit succeeded. Otherwise nothing that arrives is received here. */
  readonly isStoring: boolean;
  readonly coverage: {
    /** A time in which this host did not listen, and another receiver may have; null if there is none. */
    readonly unsure: Missed | null;
    /** Ends the unsure time: another receiver listened, or the stream carries a row that says so. */
    sure(unsure: Missed): void;
  };
  /** Notices a standstill of the process. */
  look(): void;
  /**
   * Resolves once all rows are on disk, in one transaction; deliveries that were there already are skipped.
   * @param position where the rows end in the stream, stored with them; null if they are this host's own, which are
   * published. @throws SqliteFault
   */
  append(rows: readonly NewRow[], position: StreamPosition | null): Promise<void>;
  /** Rows that were received here, oldest first, and the last row up to which every other one needs no publishing. */
  unpublished(afterSeq: number): {
    readonly rows: readonly (InboxRow & { readonly id: string })[];
    readonly upToSeq: number;
  };
}
