/** The one way into the mirror, as the rest of the program sees it. */
import type { Fact } from '../../core/apply/fact.ts';
import type { Applied } from './apply-loop.ts';
import type { CommandArgs, CommandName, CommandResult } from './commands.ts';
import type { StoreError } from '../../sqlite/errors.ts';
import type { NewEntry } from '../../event-log/entries.ts';
import type { Place } from '../../event-log/event-log.ts';
import type { BranchCounts } from './projection.ts';
import type { Pruned } from './pruned.ts';

/** Told of each transaction of the projection: what it applied, and what that did. */
export type ApplyListener = (applied: Pick<Applied, 'appliedSeq' | 'reports'>) => void;

export interface AppliedEntry {
  readonly seq: number;
  /** What happened that deserves a person's attention. */
  readonly facts: readonly Fact[];
}

export interface PruneArgs {
  readonly nowMs: number;
  /** Older rows go. */
  readonly beforeMs: number;
  readonly limit: number;
}

export interface StoreWriter {
  /** Resolves once the delivery is on disk, in the event log. @throws StoreError when it could not be committed. */
  appendDelivery(body: Uint8Array, arrivedAtMs: number): Promise<Place>;
  /** Resolves once the entry is on disk and applied. @param onStored called when it is on disk. @throws StoreError */
  append(entry: NewEntry, onStored?: () => void): Promise<AppliedEntry>;
  command<N extends CommandName>(name: N, args: CommandArgs<N>): Promise<CommandResult<N>>;
  /** The heartbeat. Resolves once the event log has it: a delivery could be kept now. @throws StoreError */
  beat(atMs: number): Promise<void>;
  /** Deletes at most `limit` of the oldest rows of each kind. @throws StoreError */
  prune(args: PruneArgs): Promise<Pruned>;
  /** The last position of the event log known to be on disk. */
  readonly lastSeq: number;
  /** The last position that the tables hold. */
  readonly appliedSeq: number;
  /** Why nothing is applied at present; null: nothing is in the way. */
  readonly stuck: StoreError | null;
  /** @returns a function that stops it. */
  onApplied(listener: ApplyListener): () => void;
  branchCounts(): Promise<BranchCounts>;
}
