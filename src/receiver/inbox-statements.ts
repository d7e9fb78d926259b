/** The statements of the inbox's writer. */
import type { InboxRow, StreamPosition } from '../inbox/inbox-file.ts';
import type { Db } from '../sqlite/open.ts';
import { prepareRows } from '../sqlite/prepared.ts';

export type UnpublishedRow = InboxRow & {
  /** The same for the same body, whichever host publishes it. */
  readonly id: string;
};

/** Published at once: few enough that a slow stream stores them before they time out. */
export const PUBLISHED_AT_ONCE = 64;
/** Looked at before some of them are deleted. */
const PRUNED_ROWS = 500;

export function prepareStatements(db: Db) {
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
