/** What the stream needs of the inbox of its host, and of what may have been missed there. */
import type { InboxRow, InboxRowKind, StreamPlace } from '../inbox/inbox-file.ts';

export interface StreamInbox {
  /** As the last run left it. */
  readonly metadata: StreamPlace & {
    /** Names this host among those of the stream. */
    readonly hostId: string;
  };
  readonly lastSeq: number;
  /** Resolves once the row is on disk, or was there already. @throws StoreError */
  append(kind: InboxRowKind, body: Uint8Array): Promise<void>;
  /** Rows that were received here, oldest first, and the last row up to which every other one needs no publishing. */
  unpublished(afterSeq: number): {
    readonly rows: readonly (InboxRow & { readonly id: string })[];
    readonly upToSeq: number;
  };
}

export interface StreamCoverage {
  /** Epoch ms, wall clock; null if this host listened all the time. */
  readonly unsureSinceMs: number | null;
  sure(): void;
  streamGap(sinceMs: number | null, wallMs: number): void;
}
