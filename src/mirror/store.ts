/** The database as the rest of the program sees it: one way in, queries out. */
import type { LastLife } from '../event-log/append-loop.ts';
import type { StoreWriter } from './writer/store-writer.ts';
import type { StoreReader } from './reader/store-reader.ts';

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
