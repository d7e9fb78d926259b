/** The only connection that writes the inbox. */
import { hash } from 'node:crypto';
import {
  inboxEnds,
  readReceiver,
  type InboxRowKind,
  type ReceiverRow,
  type StreamPosition,
} from '../inbox/inbox-file.ts';
import type { Missed } from '../core/input.ts';
import { missedBody } from '../inbox/missed.ts';
import { isDamage } from '../sqlite/errors.ts';
import { isUnexplained } from '../sqlite/explain.ts';
import { transact } from '../sqlite/transact.ts';
import { requestTimeMs } from '../store-api/request-time.ts';
import { prepareStatements, PUBLISHED_AT_ONCE, type UnpublishedRow } from './inbox-statements.ts';
import { lockAndOpen, type InboxOptions, type OpenInbox } from './open-inbox.ts';

export interface Arrival {
  readonly kind: InboxRowKind;
  readonly body: Uint8Array;
  /** Epoch ms, own clock. */
  readonly arrivedAtMs: number;
  readonly isFromStream: boolean;
}

/** The content of a heartbeat; every field replaces the one before. */
export type ReceiverHeartbeat = Omit<ReceiverRow, 'inboxId' | keyof StreamPosition>;

/** One transaction, in this order. */
export interface Append {
  readonly missed: readonly Missed[];
  /** Epoch ms, own clock: the arrival of `missed`. */
  readonly atMs: number;
  readonly arrivals: readonly Arrival[];
  /** Where `arrivals` end in the stream; null if none was taken from there. */
  readonly position: StreamPosition | null;
  readonly heartbeat: ReceiverHeartbeat | null;
}

interface Unpublished {
  readonly rows: readonly UnpublishedRow[];
  /** The last row up to which every other row needs no publishing. */
  readonly upToSeq: number;
}

/** Rows that may be deleted. */
export interface Prunable {
  readonly upToSeq: number;
  /** They arrived before it, own clock; Infinity: at any time. */
  readonly beforeMs: number;
  /** Or after it: the clock was wrong. */
  readonly afterMs: number;
}

/** Published in one piece. */
const PUBLISHED_BYTES = 1 << 20;
/** Committed bytes between checkpoints. */
const CHECKPOINT_BYTES = 16 << 20;
/** Pages that a transaction writes besides the bodies. */
const COMMIT_BYTES = 16 << 10;
/** Deleting a row reads and frees its pages: this much at once delays no answer. */
const PRUNED_BYTES = 1 << 20;

export class InboxWriter {
  #file: OpenInbox;
  #statements: ReturnType<typeof prepareStatements>;
  /** The receiver's row before this run. */
  readonly lastRun: ReceiverRow;
  #inboxId: string;
  #lastSeq: number;
  #sinceCheckpointBytes = 0;
  #isChecked = false;

  constructor(file: OpenInbox) {
    this.#file = file;
    this.#statements = prepareStatements(file.db);
    this.lastRun = readReceiver(file.db);
    this.#inboxId = this.lastRun.inboxId;
    this.#lastSeq = inboxEnds(file.db).lastSeq;
  }

  get path(): string {
    return this.#file.db.name;
  }

  /** A file that replaced a damaged one has another id. */
  get inboxId(): string {
    return this.#inboxId;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Commits all rows or none; bodies that are already in the inbox are skipped. @throws SqliteError */
  append(rows: Append): void {
    this.#orReplace(() => this.#append(rows));
  }

  #append({ missed, atMs, arrivals, position, heartbeat }: Append): void {
    const { db } = this.#file;
    // An earlier ROLLBACK may have failed.
    if (db.inTransaction) db.exec('ROLLBACK');
    // Once a second the pages are read from the disk again: damage does not show in memory, and readers meet it.
    if (heartbeat !== null) db.pragma('shrink_memory');
    let bytes = COMMIT_BYTES;
    this.#lastSeq = transact(db, () => {
      // Read again, because a commit that reported an error may have succeeded.
      let seq = this.#statements.lastSeq.get() ?? 0;
      const insert = (row: Arrival): void => {
        const key = row.kind === 'missed' ? null : bodyHash(row.body);
        const isForeign = row.isFromStream ? 1 : 0;
        seq += this.#statements.insert.run(
          seq + 1,
          row.kind,
          row.arrivedAtMs,
          key,
          isForeign,
          row.body,
        ).changes;
        bytes += row.body.byteLength;
      };
      for (const each of missed) {
        insert({ kind: 'missed', body: missedBody(each), arrivedAtMs: atMs, isFromStream: false });
      }
      for (const arrival of arrivals) insert(arrival);
      if (position !== null) this.#statements.position.run(position);
      if (heartbeat !== null) {
        this.#statements.beat.run({ ...heartbeat, isStopped: heartbeat.isStopped ? 1 : 0 });
      }
      return seq;
    });
    this.#sinceCheckpointBytes += bytes;
  }

  /** See `OpenInbox`. */
  check(): void {
    this.#file.check();
  }

  /** Call it after the answers. */
  checkpointIfDue(): void {
    if (this.#sinceCheckpointBytes < CHECKPOINT_BYTES) return;
    this.#sinceCheckpointBytes = 0;
    try {
      this.#file.db.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // The next commit reports the same fault.
    }
  }

  /** @throws SqliteError */
  unpublished(afterSeq: number): Unpublished {
    return this.#orReplace(() => this.#unpublished(afterSeq));
  }

  #unpublished(afterSeq: number): Unpublished {
    const rows: UnpublishedRow[] = [];
    let bytes = 0;
    for (const row of this.#statements.unpublished.iterate(afterSeq)) {
      rows.push(row);
      bytes += row.body.byteLength;
      if (bytes > PUBLISHED_BYTES || rows.length === PUBLISHED_AT_ONCE) return { rows, upToSeq: row.seq };
    }
    return { rows, upToSeq: this.lastSeq };
  }

  /**
   * Deletes some of the oldest rows up to `upToSeq`, and none from the first on that arrived neither before `beforeMs` nor after `afterMs`.
   * @returns how many. @throws SqliteError
   */
  prune(rows: Prunable): number {
    return this.#orReplace(() => this.#prune(rows));
  }

  #prune({ upToSeq, beforeMs, afterMs }: Prunable): number {
    let lastSeq: number | null = null;
    let bytes = 0;
    // Numbers continue from the last row, so it stays.
    for (const row of this.#statements.oldest.iterate(Math.min(upToSeq, this.lastSeq - 1))) {
      bytes += row.bytes;
      if (row.arrivedAtMs >= beforeMs && row.arrivedAtMs <= afterMs) break;
      if (lastSeq !== null && bytes > PRUNED_BYTES) break;
      lastSeq = row.seq;
    }
    if (lastSeq === null) return 0;
    const upTo = lastSeq;
    return transact(this.#file.db, () => this.#statements.prune.run(upTo).changes);
  }

  close(): void {
    this.#file.close();
  }

  /** Work that meets damage fails, and finds a new file the next time. */
  #orReplace<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      if (isDamage(error) || (isUnexplained(error) && this.#hasDamage())) this.#replace(error);
      throw error;
    }
  }

  /** Looks at every page, which may take long, so only once. */
  #hasDamage(): boolean {
    if (this.#isChecked) return false;
    this.#isChecked = true;
    try {
      return this.#file.db.pragma('quick_check(1)', { simple: true }) !== 'ok';
    } catch (error) {
      return isDamage(error);
    }
  }

  #replace(damage: unknown): void {
    this.#file = this.#file.replace(damage, this.#lastSeq);
    const { db } = this.#file;
    this.#statements = prepareStatements(db);
    this.#inboxId = readReceiver(db).inboxId;
    this.#lastSeq = inboxEnds(db).lastSeq;
    this.#sinceCheckpointBytes = 0;
    this.#isChecked = false;
  }
}

/** Locks, opens and if needed creates the inbox of a database. @throws SqliteFault if another process has it. */
export function openInboxWriter(
  databasePath: string,
  options: InboxOptions = { now: Date.now, onReplaced: () => undefined },
): InboxWriter {
  return new InboxWriter(lockAndOpen(databasePath, options));
}

const PREFIX_MS = 100;

/** The tenth of a second of its `request_time`, so that the index grows at its end, and 12 bytes of its SHA-256. */
export function bodyHash(body: Uint8Array): Buffer {
  const key = hash('sha256', body, 'buffer').subarray(0, 16);
  key.writeUInt32BE(Math.floor((requestTimeMs(body) ?? 0) / PREFIX_MS) % 2 ** 32);
  return key;
}
