/** The database as the rest of the program sees it: one way in, queries out. */
import type { Fact } from '../core/fact.ts';
import type { Applied } from './apply-loop.ts';
import type { CommandArgs, CommandName, CommandResult } from './commands.ts';
import type { StoreError } from './errors.ts';
import type { LastLife } from './event-log/append-loop.ts';
import type { NewEntry } from './event-log/entries.ts';
import type { Place } from './event-log/event-log.ts';
import type { BranchCounts } from './projection.ts';
import type { Pruned } from './pruned.ts';
import type { QueryArgs, QueryName, QueryResult } from './queries/index.ts';

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
  /** Memory held by deliveries that wait for their commit. */
  readonly waitingBytes: number;
  /** @returns a function that stops it. */
  onApplied(listener: ApplyListener): () => void;
  branchCounts(): Promise<BranchCounts>;
}

export interface StoreReader {
  ask<N extends QueryName>(
    name: N,
    ...args: QueryArgs<N> extends undefined ? [] : [QueryArgs<N>]
  ): Promise<QueryResult<N>>;
}

export interface Store {
  readonly writer: StoreWriter;
  readonly reader: StoreReader;
  /** Of the previous run. */
  readonly life: LastLife;
  /**
   * Resolves once the tables can be read and written; until then queries and commands wait.
   *
   * @throws StoreError when the mirror's file is not a mirror, too new, damaged, locked, or out of reach.
   */
  readonly opened: Promise<void>;
  /**
   * To be called before everything else is stopped: who waits for the tables, and cannot be told within a second that
   * they hold what is in the event log, gets a StoreError; the next start applies it.
   */
  leave(): void;
  /** Commits what waits, then closes the files. */
  close(): Promise<void>;
}
