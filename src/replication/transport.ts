/**
 * How entries come from one machine to another. What carries them is behind this interface: an engine (`nats/`) or the
 * private listener of a single primary (`http/`). On one machine there is none of it: the event log's thread is asked
 * directly (docs/beyond-one-machine.md).
 */
import type { CopiedRow } from '../event-log/copied-row.ts';

/** Where a replica's own event log stands. */
export interface Standing {
  readonly epoch: string;
  readonly lastSeq: number;
  /** As committed with the last batch; null: nothing was ever copied. Only its transport knows what is in it. */
  readonly cursor: unknown;
}

/** What a replica commits in one transaction. */
export interface Batch {
  /** In order. Empty: a sign of life, or the cursor alone has moved. A `pruned` row is the first of its batch. */
  readonly rows: readonly CopiedRow[];
  /** Of each row the number by which `publish` told of it; null where it tells of none. */
  readonly positions: readonly (number | null)[];
  /** Kept in the same transaction as the rows. JSON. */
  readonly cursor: unknown;
  /** Entries before this one are gone where these come from, and may go here; null: it does not say. */
  readonly firstSeq: number | null;
  /** How many rows are known to come after these. */
  readonly left: number;
  /** What these come from is itself up to date: with nothing left, the replica is as well. */
  readonly isLive: boolean;
}

/** A row on its way to the common order. */
export interface Publication {
  /** The same input has the same id, however often and by whomever it is published. */
  readonly id: string;
  readonly row: CopiedRow;
}

/** Where a published row is. */
export interface Published {
  /** In what carries it: larger than that of all before it. Deliveries that were published together may share one. */
  readonly position: number;
  /** To ask later whether it is still there. JSON. */
  readonly receipt: unknown;
}

/**
 * What a log needs that cannot go on from where it stands.
 *
 * - `history`: the engine has none at all, or has lost entries that this log has. A lead begins a new one, from the log
 *   that has most.
 * - `snapshot`: the history goes on from elsewhere. Both files are replaced by a snapshot.
 * - `other_updates`: the history is applied by an earlier version of the rules than the one here. A lead begins a new one
 *   once no replica applies by that any more.
 */
export type Need = 'history' | 'snapshot' | 'other_updates';

/** The source cannot be followed from where the log stands. */
export class CannotFollow extends Error {
  override readonly name = 'CannotFollow';
  readonly need: Need;

  constructor(message: string, need: Need) {
    super(message);
    this.need = need;
  }
}

/** The engine or the primary cannot be reached, or fails: tried again. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
}

/** What a replica needs. */
export interface Source {
  /** For people: an address, without secrets. */
  readonly name: string;
  /**
   * What comes after the place where the log stands, until aborted. While nothing comes, an empty batch every second.
   *
   * @throws CannotFollow, TransportError
   */
  follow(from: Standing, signal: AbortSignal): AsyncIterable<Batch>;
  /**
   * Writes the newest snapshot into these two files, which do not exist yet.
   *
   * @returns false when there is none. @throws TransportError
   */
  getSnapshot(into: SnapshotFiles, signal: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}

/** The mirror as of one instant, and an event log that reaches at least as far. */
export interface SnapshotFiles {
  readonly mirror: string;
  readonly log: string;
}

/** Of the replica that leads. */
export interface LeadStanding extends Standing {
  readonly changeSeq: number;
  readonly nowMs: number;
  /** The history does not continue from here, and neither a snapshot nor another replica leads to it. */
  readonly isStranded: boolean;
}

/** What receivers and the lead need besides: a common order, and the lease. */
export interface Engine extends Source {
  /** Resolves once it is stored for good. @throws TransportError when that is not known. */
  publish(publication: Publication): Promise<Published>;
  /** Whether what was published is still where the receipt says. @throws TransportError when that is not known. */
  isKept(receipt: unknown): Promise<boolean>;
  /**
   * For the lead alone: sees that there is a history to follow. A new one begins where there is none, where what carried
   * the one that this log follows has lost entries that the log has, and where it is applied by earlier rules than here.
   *
   * @param changeSeq the last number of the change feed. @returns true when a new one has begun. @throws TransportError
   */
  keepHistory(from: LeadStanding, signal: AbortSignal): Promise<boolean>;
  /** @param standing where the event log in it stands. @throws TransportError, also when aborted */
  putSnapshot(files: SnapshotFiles, standing: Standing, signal: AbortSignal): Promise<void>;
  readonly lease: Lease;
  /** Announcements by key. A value that is not written again expires after `LEASE_MS`. */
  readonly presence: Notes;
  /** Notes that do not expire. */
  readonly state: Notes;
  /** Anything that makes the engine less safe than it should be, in words with a remedy. @throws TransportError */
  inspect(): Promise<readonly EngineFinding[]>;
}

export interface EngineFinding {
  readonly problem: string;
  readonly remedy: string;
  /** It works for now. */
  readonly isWarning: boolean;
}

export interface Notes {
  /** @throws TransportError */
  get(key: string): Promise<unknown>;
  /** @throws TransportError */
  put(key: string, value: unknown): Promise<void>;
  /** Of all keys that begin with the prefix, by key. @throws TransportError */
  list(prefix: string): Promise<ReadonlyMap<string, unknown>>;
  /** @throws TransportError */
  delete(key: string): Promise<void>;
}

/** The lease expires this long after its last renewal. */
export const LEASE_MS = 10_000;

/** One holder at a time: a write must name the revision that was read or written last. */
export interface Lease {
  /** @param holder for people. @returns the revision, null when somebody else has it. @throws TransportError */
  take(holder: string): Promise<number | null>;
  /** @returns the new revision, null when it is lost. @throws TransportError when that is not known. */
  renew(holder: string, revision: number): Promise<number | null>;
  /** @throws TransportError */
  release(revision: number): Promise<void>;
}
