/** The event log as the mirror writes it: its own file, or one that several machines share. */
import type { EncodedEntry, Place, PruneBounds, PrunedLog } from './event-log.ts';

export interface EntryLog {
  /** The last position known to be on disk here. */
  readonly lastSeq: number;
  /** Entries up to here came before a request that is sent now. */
  readonly s0: number;
  /** Memory held by deliveries that wait for their commit. */
  readonly waitingBytes: number;
  /** Resolves once it is on disk. @throws StoreError */
  appendDelivery(body: Uint8Array, arrivedAtMs: number): Promise<Place>;
  /** Resolves once it is on disk, here. @throws StoreError */
  appendEntry(entry: EncodedEntry): Promise<Place>;
  /** Writes the heartbeat. @throws StoreError */
  beat(atMs: number): Promise<void>;
  /** What `prune` names is deleted by the entry that says so, here and in every copy. */
  readonly prunesByEntry: boolean;
  /** @throws StoreError */
  prune(args: PruneBounds): Promise<PrunedLog>;
}
