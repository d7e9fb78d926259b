/**
 * The inbox's file: every delivery, and everything that may have been missed, in one order
 * (docs/architecture.md#inbox). The receiver writes it; the mirror only reads it.
 */
import { extname } from 'node:path';
import { isDamage, SqliteFault } from '../sqlite/errors.ts';
import { explained } from '../sqlite/explain.ts';
import { openReader, type Db } from '../sqlite/open.ts';
import { onlyRow, prepareRows } from '../sqlite/prepared.ts';

/** `.inbox` before the extension of the mirror's file: `data/stock-mirror.db` has `data/stock-mirror.inbox.db`. */
export function inboxPath(databasePath: string): string {
  const extension = extname(databasePath);
  return `${databasePath.slice(0, databasePath.length - extension.length)}.inbox${extension}`;
}

export const INBOX_APPLICATION_ID = 0x736d6962; // "smib"
/** In `user_version`. */
export const INBOX_SCHEMA_VERSION = 1;

/** `receiver` is written by the receiver's heartbeat, in the transaction of the waiting rows. */
export const INBOX_TABLES = `
  CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY,
    -- 'test': a webhook of the command send, which shows nothing about the store.
    kind TEXT NOT NULL CHECK (kind IN ('delivery', 'test', 'missed')),
    -- The receiver's own clock.
    arrived_at_ms INTEGER NOT NULL,
    -- null for 'missed': two of them are never the same.
    body_hash BLOB UNIQUE,
    -- 1: taken from the stream, so not published again.
    from_stream INTEGER NOT NULL DEFAULT 0,
    body BLOB NOT NULL,
    CHECK ((kind = 'missed') = (body_hash IS NULL))
  ) STRICT;
  CREATE TABLE receiver (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- Names this inbox, for the mirror that follows it and among the hosts of a stream.
    inbox_id TEXT NOT NULL,
    -- Heartbeat: until then the receiver listened. Wall clock.
    alive_at_ms INTEGER,
    -- The own clock at the heartbeat, and the same instant since the machine's boot, of which boot_id names one.
    clock_ms INTEGER,
    since_boot_ms INTEGER,
    boot_id TEXT,
    -- 1: the last heartbeat of a run that stopped in order, with nothing missed that is not written down.
    is_stopped INTEGER NOT NULL DEFAULT 0,
    -- Inode of the passed socket that such a stop left open.
    kept_socket INTEGER,
    -- With a stream: this host did not listen at times since then, and the stream has not shown yet whether another did.
    unsure_since_ms INTEGER,
    -- Every row up to this one is in the stream, or came from it.
    published_seq INTEGER NOT NULL DEFAULT 0,
    -- The stream read, and its last message up to which all are stored here: written with the rows.
    stream_id TEXT,
    stream_seq INTEGER NOT NULL DEFAULT 0,
    -- src/inbox/report.ts, as JSON; null before the first heartbeat.
    report_json TEXT
  ) STRICT;
  PRAGMA application_id = ${INBOX_APPLICATION_ID};
  PRAGMA user_version = ${INBOX_SCHEMA_VERSION};`;

/** Where this host has read the stream; stored with the rows that it took from there. */
export interface StreamPosition {
  /** null if no stream was read. */
  readonly streamId: string | null;
  /** All messages up to this one are in the inbox. */
  readonly streamSeq: number;
}

/**
 * The receiver's last heartbeat. All fields but the inbox's id and those about the stream are null before the
 * first one.
 */
export interface ReceiverRow extends StreamPosition {
  readonly inboxId: string;
  /** Every row up to this one is in the stream, or came from it. */
  readonly publishedSeq: number;
  /** Epoch ms, wall clock. */
  readonly aliveAtMs: number | null;
  /** Epoch ms, own clock. */
  readonly clockMs: number | null;
  readonly sinceBootMs: number | null;
  readonly bootId: string | null;
  readonly isStopped: boolean;
  /** An inode. */
  readonly keptSocket: number | null;
  /** Epoch ms, wall clock. */
  readonly unsureSinceMs: number | null;
  readonly reportJson: string | null;
}

export type InboxRowKind = 'delivery' | 'test' | 'missed';

export interface InboxRow {
  readonly seq: number;
  readonly kind: InboxRowKind;
  /** Epoch ms, own clock of the receiver. */
  readonly arrivedAtMs: number;
  readonly body: Buffer;
}

export function readReceiver(db: Db): ReceiverRow {
  const row = prepareRows<[], Omit<ReceiverRow, 'isStopped'> & { readonly isStopped: number }>(
    db,
    {
      inboxId: 'inbox_id',
      aliveAtMs: 'alive_at_ms',
      clockMs: 'clock_ms',
      sinceBootMs: 'since_boot_ms',
      bootId: 'boot_id',
      isStopped: 'is_stopped',
      keptSocket: 'kept_socket',
      unsureSinceMs: 'unsure_since_ms',
      publishedSeq: 'published_seq',
      streamId: 'stream_id',
      streamSeq: 'stream_seq',
      reportJson: 'report_json',
    },
    (columns) => `SELECT ${columns} FROM receiver`,
  ).get();
  if (row === undefined) {
    throw new SqliteFault('damaged', `${db.name} is damaged: it lacks the row of its receiver.`);
  }
  return { ...row, isStopped: row.isStopped === 1 };
}

/** The ends of the rows; `firstSeq` and `lastSeq` are 0 if there is none. */
export interface InboxEnds {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export function inboxEnds(db: Db): InboxEnds {
  return onlyRow(
    prepareRows<[], InboxEnds>(
      db,
      {
        // One query for both would read the whole table.
        firstSeq: 'coalesce((SELECT min(seq) FROM inbox), 0)',
        lastSeq: 'coalesce((SELECT max(seq) FROM inbox), 0)',
      },
      (columns) => `SELECT ${columns}`,
    ),
  );
}

/** Like `explain`, for the mirror, which must not mistake damage of the inbox for its own. */
export function explainInbox<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const fault = explained(path, cause);
    throw isDamage(fault) ? new SqliteFault('inbox_damaged', fault.message, { cause }) : fault;
  }
}

/** @throws SqliteFault, also if no receiver has ever run here. */
export function openInboxReader(databasePath: string): Db {
  const path = inboxPath(databasePath);
  return explainInbox(path, () => {
    const db = openReader(path);
    try {
      if (db.pragma('application_id', { simple: true }) === INBOX_APPLICATION_ID) return db;
      throw new SqliteFault(
        'not_a_database',
        `${path} belongs to another program: move it away, or set DATABASE_PATH to another file.`,
      );
    } catch (error) {
      db.close();
      throw error;
    }
  });
}
