/** The only connection that writes the inbox. */
import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import {
  inboxEnds,
  readReceiver,
  type InboxRow,
  type InboxRowKind,
  type ReceiverRow,
  type StreamPosition,
} from '../inbox/inbox-file.ts';
import { missedBody, type Missed } from '../inbox/missed.ts';
import type { Db } from '../sqlite/open.ts';
import { prepareRows } from '../sqlite/prepared.ts';
import { transact } from '../sqlite/transact.ts';
import { requestTimeMs } from '../store-api/request-time.ts';
import { lockAndOpen, type OpenInbox } from './open-inbox.ts';

export interface Arrival {
  readonly kind: InboxRowKind;
  readonly body: Uint8Array;
  /** Epoch ms, own clock. */
  readonly arrivedAtMs: number;
  readonly isFromStream: boolean;
}

/** The content of a heartbeat; every field replaces the one before. */
export type Heartbeat = Omit<ReceiverRow, 'inboxId' | keyof StreamPosition>;

/** One transaction, in this order. */
export interface Append {
  readonly missed: readonly Missed[];
  /** Epoch ms, own clock: the arrival of `missed`. */
  readonly atMs: number;
  readonly arrivals: readonly Arrival[];
  /** Where `arrivals` end in the stream; null if none was taken from there. */
  readonly position: StreamPosition | null;
  readonly heartbeat: Heartbeat | null;
}

type UnpublishedRow = InboxRow & {
  /** The same for the same body, whoever publishes it. */
  readonly id: string;
};

/** Rows that may be deleted. */
export interface Prunable {
  readonly upToSeq: number;
  /** They arrived before it, own clock; Infinity: at any time. */
  readonly beforeMs: number;
}

/** Published at once: few enough that a slow stream stores them before they time out. */
const PUBLISHED_AT_ONCE = 64;
const PUBLISHED_BYTES = 1 << 20;
/** Committed bytes between checkpoints. */
const CHECKPOINT_BYTES = 16 << 20;
/** Pages that a transaction writes besides the bodies. */
const COMMIT_BYTES = 16 << 10;
/** Deleting a row reads and frees its pages: this much at once delays no answer. */
const PRUNED_ROWS = 500;
const PRUNED_BYTES = 1 << 20;

export class InboxWriter {
  readonly #db: Db;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #check: () => void;
  readonly #close: () => void;
  /** The receiver's row before this run. */
  readonly lastRun: ReceiverRow;
  lastSeq: number;
  #sinceCheckpointBytes = 0;

  constructor({ db, check, close }: OpenInbox) {
    this.#db = db;
    this.#statements = prepareStatements(db);
    this.#check = check;
    this.#close = close;
    this.lastRun = readReceiver(db);
    this.lastSeq = inboxEnds(db).lastSeq;
  }

  get path(): string {
    return this.#db.name;
  }

  /** Differs in a copy of the file, which may serve another host. */
  get inode(): string {
    return String(statSync(this.path, { bigint: true }).ino);
  }

  /** Commits all rows or none; bodies that are already in the inbox are skipped. @throws SqliteError */
  append({ missed, atMs, arrivals, position, heartbeat }: Append): void {
    // An earlier ROLLBACK may have failed.
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
    let bytes = COMMIT_BYTES;
    this.lastSeq = transact(this.#db, () => {
      // Read again, because a commit that reported an error may have succeeded.
      let seq = this.#statements.lastSeq.get() ?? 0;
      const insert = (row: Arrival): void => {
        const key = row.kind === 'delivery' ? bodyHash(row.body) : null;
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
    this.#check();
  }

  /** Call it after the answers. */
  checkpointIfDue(): void {
    if (this.#sinceCheckpointBytes < CHECKPOINT_BYTES) return;
    this.#sinceCheckpointBytes = 0;
    try {
      this.#db.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // The next commit reports the same fault.
    }
  }

  /** @returns also the last row up to which every other row needs no publishing. */
  unpublished(afterSeq: number): { readonly rows: readonly UnpublishedRow[]; readonly upToSeq: number } {
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
   * Deletes some of the oldest rows up to `upToSeq`, and none from the first on that arrived at `beforeMs` or later.
   * @returns how many. @throws SqliteError
   */
  prune({ upToSeq, beforeMs }: Prunable): number {
    let lastSeq: number | null = null;
    let bytes = 0;
    // Numbers continue from the last row, so it stays.
    for (const row of this.#statements.oldest.iterate(Math.min(upToSeq, this.lastSeq - 1))) {
      bytes += row.bytes;
      if (row.arrivedAtMs >= beforeMs) break;
      if (lastSeq !== null && bytes > PRUNED_BYTES) break;
      lastSeq = row.seq;
    }
    if (lastSeq === null) return 0;
    const upTo = lastSeq;
    return transact(this.#db, () => this.#statements.prune.run(upTo).changes);
  }

  close(): void {
    this.#close();
  }
}

/** Locks, opens and if needed creates the inbox of a database. @throws SqliteFault if another process has it. */
export function openInboxWriter(databasePath: string): InboxWriter {
  return new InboxWriter(lockAndOpen(databasePath));
}

function prepareStatements(db: Db) {
  return {
    insert: db.prepare<[number, string, number, Buffer | null, number, Uint8Array]>(`
      INSERT INTO inbox (seq, kind, arrived_at_ms, body_hash, from_stream, body)
      VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (body_hash) DO NOTHING`),
    lastSeq: db.prepare<[], number | null>('SELECT max(seq) FROM inbox').pluck(),
    beat: db.prepare<[object]>(`
      UPDATE receiver SET
        alive_at_ms = @aliveAtMs,
        clock_ms = @clockMs,
        since_boot_ms = @sinceBootMs,
        boot_id = @bootId,
        is_stopped = @isStopped,
        kept_socket = @keptSocket,
        unsure_since_ms = @unsureSinceMs,
        published_seq = @publishedSeq,
        report_json = @reportJson`),
    position: db.prepare<[StreamPosition]>(`
      UPDATE receiver SET
        stream_id = @streamId,
        stream_seq = @streamSeq`),
    unpublished: prepareRows<[number], UnpublishedRow>(
      db,
      {
        seq: 'seq',
        kind: 'kind',
        arrivedAtMs: 'arrived_at_ms',
        id: `iif(body_hash IS NULL, (SELECT inbox_id FROM receiver) || '-' || seq, lower(hex(body_hash)))`,
        body: 'body',
      },
      (columns) => `
        SELECT ${columns}
        FROM inbox
        WHERE seq > ? AND from_stream = 0
        ORDER BY seq
        LIMIT ${PUBLISHED_AT_ONCE}`,
    ),
    oldest: prepareRows<[number], Pick<InboxRow, 'seq' | 'arrivedAtMs'> & { readonly bytes: number }>(
      db,
      {
        seq: 'seq',
        arrivedAtMs: 'arrived_at_ms',
        bytes: 'length(body)',
      },
      (columns) => `SELECT ${columns} FROM inbox WHERE seq <= ? ORDER BY seq LIMIT ${PRUNED_ROWS}`,
    ),
    prune: db.prepare<[number]>('DELETE FROM inbox WHERE seq <= ?'),
  };
}

const PREFIX_MS = 100;

/** The tenth of a second of its `request_time`, so that the index grows at its end, and 12 bytes of its SHA-256. */
export function bodyHash(body: Uint8Array): Buffer {
  const key = hash('sha256', body, 'buffer').subarray(0, 16);
  key.writeUInt32BE(Math.floor((requestTimeMs(body) ?? 0) / PREFIX_MS) % 2 ** 32);
  return key;
}
