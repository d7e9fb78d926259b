/** The database as the rest of the program sees it: one way in, queries out. */
import type { BranchCounts, Appended } from './writer.ts';
import type { CommandArgs, CommandName, CommandResult } from './commands.ts';
import type { NewEntry } from './log.ts';
import type { QueryArgs, QueryName, QueryResult } from './queries/index.ts';
import type { Life } from './queries/status.ts';

export type AppendListener = (appended: Appended, kind: NewEntry['kind'] | 'delivery') => void;

export interface StoreWriter {
  /** Resolves once the delivery is on disk. @throws StoreError when it could not be committed. */
  appendDelivery(body: Uint8Array, arrivedAtMs: number): Promise<Appended>;
  /** Resolves once the entry is on disk and applied. @throws StoreError */
  append(entry: NewEntry): Promise<Appended>;
  command<N extends CommandName>(name: N, args: CommandArgs<N>): Promise<CommandResult<N>>;
  /** The last log position known to be committed. */
  readonly lastSeq: number;
  /** Memory held by deliveries that wait for their commit. */
  readonly waitingBytes: number;
  /** Calls the listener with everything committed, in commit order. @returns a function that stops it. */
  onAppended(listener: AppendListener): () => void;
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
  /** What was there when it was opened. */
  readonly life: Life;
  /** Commits what waits, then closes the file. */
  close(): Promise<void>;
}
