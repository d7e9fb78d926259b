/** Every delivery in order of arrival, in a file that only this program opens (docs/architecture.md#inbox). */
import { hash, randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { extname } from 'node:path';
import Database from 'better-sqlite3';
import { StoreError } from '../sqlite/errors.ts';
import { explain, useWal } from '../sqlite/explain.ts';
import { BUSY_TIMEOUT_MS, type Db } from '../sqlite/open.ts';
import { transact } from '../sqlite/transact.ts';

/** `.inbox` before the extension of the mirror's file: `data/stock-mirror.db` has `data/stock-mirror.inbox.db`. */
export function inboxPath(databasePath: string): string {
  const extension = extname(databasePath);
  return `${databasePath.slice(0, databasePath.length - extension.length)}.inbox${extension}`;
}

const APPLICATION_ID = 0x736d6962; // "smib"

const TABLES = `
  CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY,
    arrived_at_ms INTEGER NOT NULL,
    body_hash BLOB NOT NULL UNIQUE,
    -- 1: taken from the stream, so not published again.
    from_stream INTEGER NOT NULL DEFAULT 0,
    body BLOB NOT NULL
  ) STRICT;
  CREATE TABLE metadata (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    host_id TEXT NOT NULL,
    -- Identifies one numbering of the change feed.
    epoch TEXT NOT NULL,
    -- Heartbeat: the public port was open until then.
    alive_at_ms INTEGER,
    -- The process clock at the heartbeat; it stays monotonic when the wall clock is set back.
    clock_ms INTEGER,
    -- Deliveries may be missing since then, and the mirror does not know yet; null if it does.
    missed_since_ms INTEGER,
    -- The passed socket that a stop left open, with nothing missed; null while running.
    kept_socket INTEGER,
    -- The highest change number that readers of the mirror may have seen.
    change_seq INTEGER NOT NULL DEFAULT 0,
    published_seq INTEGER NOT NULL DEFAULT 0,
    -- The stream consumed, and its last message whose predecessors are all stored here.
    stream_id TEXT,
    stream_seq INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  PRAGMA application_id = ${APPLICATION_ID};`;

/** Progress with the stream at the last heartbeat; later work is repeated after a crash. */
export interface StreamPlace {
  /** Every row up to this one is in the stream. */
  readonly publishedSeq: number;
  readonly streamId: string | null;
  readonly streamSeq: number;
}

export interface InboxMetadata extends StreamPlace {
  readonly hostId: string;
  readonly epoch: string;
  /** null before the first heartbeat. */
  readonly aliveAtMs: number | null;
  /** The next process's clock starts no earlier. */
  readonly clockMs: number | null;
  readonly missedSinceMs: number | null;
  readonly keptSocket: number | null;
  readonly changeSeq: number;
  /** 0 if the inbox is empty. */
  readonly lastSeq: number;
}

export interface Heartbeat extends Pick<InboxMetadata, 'missedSinceMs' | 'changeSeq'> {
  /** Wall clock. */
  readonly atMs: number;
  readonly clockMs: number;
  readonly keptSocket?: number | null;
  /** null if no stream is configured: nothing waits to be published. */
  readonly stream: StreamPlace | null;
}

export interface Arrival {
  readonly body: Uint8Array;
  readonly arrivedAtMs: number;
  readonly fromStream?: boolean;
}

export interface InboxRow {
  readonly seq: number;
  readonly arrivedAtMs: number;
  readonly body: Buffer;
}

type UnpublishedRow = InboxRow & { readonly id: string };

/** Up to `limit` of the oldest rows that arrived before `beforeMs` and are applied and published. */
export interface PruneInbox {
  readonly beforeMs: number;
  readonly doneSeq: number;
  readonly limit: number;
}

/** Opens the connection that appends; creates the file. @throws StoreError */
export function openInbox(path: string): Db {
  return explain(path, () => {
    const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      const isEmpty = db.prepare('SELECT 1 FROM sqlite_master').get() === undefined;
      if (!isEmpty && db.pragma('application_id', { simple: true }) !== APPLICATION_ID) {
        throw new StoreError(
          'not_a_database',
          `${path} belongs to another program: move it away, or set DATABASE_PATH to another file.`,
        );
      }
      chmodSync(path, 0o600);
      useWal(db);
      // FULL: a commit returns once it is on disk; macOS needs fullfsync for that. Checkpoints run after the answers,
      // not inside a commit. The cache is small because appends touch only the end of the table and of its index.
      db.exec(`PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA wal_autocheckpoint = 0;
        PRAGMA journal_size_limit = ${64 << 20}; PRAGMA cache_size = -2048;`);
      if (isEmpty) {
        db.transaction(() => {
          db.exec(TABLES);
          db.prepare('INSERT INTO metadata (id, host_id, epoch) VALUES (1, ?, ?)').run(newName(), newName());
        }).immediate();
      }
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

export const newName = (): string => randomBytes(8).toString('hex');

const METADATA = `SELECT host_id AS hostId, epoch, alive_at_ms AS aliveAtMs, missed_since_ms AS missedSinceMs, kept_socket AS keptSocket,
  max(clock_ms, coalesce((SELECT arrived_at_ms FROM inbox ORDER BY seq DESC LIMIT 1), clock_ms)) AS clockMs,
  change_seq AS changeSeq, published_seq AS publishedSeq, stream_id AS streamId, stream_seq AS streamSeq, coalesce((SELECT max(seq) FROM inbox), 0) AS lastSeq FROM metadata`;

export function readMetadata(db: Db): InboxMetadata {
  const row = db.prepare<[], InboxMetadata>(METADATA).get();
  if (row === undefined) throw new StoreError('damaged', `${db.name} has no metadata: move it away.`);
  return row;
}

const PUBLISHED_AT_ONCE = 256;
const PUBLISHED_BYTES = 4 << 20;

export class Inbox {
  readonly #db: Db;
  readonly #sql;
  lastSeq: number;

  constructor(db: Db) {
    this.#db = db;
    this.#sql = {
      insert: db.prepare<[number, number, Buffer, number, Uint8Array]>(
        `INSERT INTO inbox (seq, arrived_at_ms, body_hash, from_stream, body) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (body_hash) DO NOTHING`,
      ),
      beat: db.prepare<[Omit<Heartbeat, 'stream'> & StreamPlace]>(
        `UPDATE metadata SET alive_at_ms = @atMs, clock_ms = @clockMs, missed_since_ms = @missedSinceMs, kept_socket = @keptSocket,
           change_seq = max(change_seq, @changeSeq), published_seq = @publishedSeq, stream_id = @streamId,
           stream_seq = @streamSeq`,
      ),
      unpublished: db.prepare<[number], UnpublishedRow>(
        `SELECT seq, arrived_at_ms AS arrivedAtMs, lower(hex(body_hash)) AS id, body FROM inbox
           WHERE seq > ? AND from_stream = 0 ORDER BY seq LIMIT ${PUBLISHED_AT_ONCE}`,
      ),
      beginEpoch: db.prepare('UPDATE metadata SET epoch = ?, change_seq = max(change_seq, ?)'),
      firstSeq: db.prepare<[], number | null>('SELECT min(seq) FROM inbox').pluck(),
      lastSeq: db.prepare<[], number | null>('SELECT max(seq) FROM inbox').pluck(),
      // Keep the last row: numbers continue from it.
      prune: db.prepare<[PruneInbox]>(
        `DELETE FROM inbox WHERE arrived_at_ms < @beforeMs AND seq <= @doneSeq AND seq < (SELECT max(seq) FROM inbox)
           AND seq IN (SELECT seq FROM inbox ORDER BY seq LIMIT @limit)`,
      ),
    };
    this.lastSeq = readMetadata(db).lastSeq;
  }

  /**
   * Commits all arrivals or none, skipping bodies already present. A heartbeat in the same transaction shows that a
   * delivery could be committed now. @throws SqliteError
   */
  append(arrivals: readonly Arrival[], heartbeat: Heartbeat | null = null): void {
    this.lastSeq = this.#transact(() => {
      // A commit that reported an error may have succeeded.
      let seq = this.#sql.lastSeq.get() ?? 0;
      for (const { body, arrivedAtMs, fromStream } of arrivals) {
        const isForeign = fromStream === true ? 1 : 0;
        seq += this.#sql.insert.run(seq + 1, arrivedAtMs, bodyHash(body), isForeign, body).changes;
      }
      if (heartbeat !== null) {
        const { stream, ...rest } = heartbeat;
        const place = stream ?? { publishedSeq: seq, streamId: null, streamSeq: 0 };
        this.#sql.beat.run({ keptSocket: null, ...rest, ...place });
      }
      return seq;
    });
  }

  beat(heartbeat: Heartbeat): void {
    this.append([], heartbeat);
  }

  /** @returns also the last row up to which every other row needs no publishing. */
  unpublished(afterSeq: number) {
    const rows: UnpublishedRow[] = [];
    let bytes = 0;
    for (const row of this.#sql.unpublished.iterate(afterSeq)) {
      rows.push(row);
      bytes += row.body.byteLength;
      if (bytes > PUBLISHED_BYTES || rows.length === PUBLISHED_AT_ONCE) return { rows, upToSeq: row.seq };
    }
    return { rows, upToSeq: this.lastSeq };
  }

  beginEpoch(epoch: string, changeSeq: number): void {
    this.#transact(() => this.#sql.beginEpoch.run(epoch, changeSeq));
  }

  /** @returns `firstSeq` 0 if no row is left. */
  prune(args: PruneInbox) {
    return this.#transact(() => ({
      deleted: this.#sql.prune.run(args).changes,
      firstSeq: this.#sql.firstSeq.get() ?? 0,
    }));
  }

  #transact<T>(work: () => T): T {
    // A failed ROLLBACK may have left it open.
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
    return transact(this.#db, work);
  }
}

const REQUEST_TIME = Buffer.from('"request_time":');
const TIME_DIGITS = 13;
const PREFIX_MS = 100;

/** The tenth of a second of its `request_time`, so that the index grows at its end, and 12 bytes of its SHA-256. */
export function bodyHash(body: Uint8Array): Buffer {
  const key = hash('sha256', body, 'buffer').subarray(0, 16);
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const start = bytes.indexOf(REQUEST_TIME) + REQUEST_TIME.length;
  const sentAtMs = Number(bytes.toString('latin1', start, start + TIME_DIGITS));
  const isKnown = Number.isSafeInteger(sentAtMs) && sentAtMs >= 0;
  key.writeUInt32BE(isKnown ? Math.floor(sentAtMs / PREFIX_MS) % 2 ** 32 : 0);
  return key;
}
