/** What the event log asks of its tables. */
import type { Db } from '../sqlite/open.ts';

export function prepareLog(db: Db) {
  return {
    insert: db.prepare(
      `INSERT INTO log (seq, kind, at_ms, body_hash, payload) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (body_hash) WHERE body_hash IS NOT NULL DO NOTHING`,
    ),
    known: db.prepare<[Buffer], number>('SELECT seq FROM log WHERE body_hash = ?').pluck(),
    firstSeq: db.prepare<[], number | null>('SELECT min(seq) FROM log').pluck(),
    lastSeq: db.prepare<[], number | null>('SELECT max(seq) FROM log').pluck(),
    lastAtMs: db.prepare<[], number>('SELECT at_ms FROM log ORDER BY seq DESC LIMIT 1').pluck(),
    detail: db.prepare<[string], { readonly hash: Buffer; readonly seq: number }>(
      'SELECT hash, seq FROM details WHERE product_id = ?',
    ),
    putDetail: db.prepare(
      `INSERT INTO details (product_id, hash, seq) VALUES (?, ?, ?)
       ON CONFLICT (product_id) DO UPDATE SET hash = excluded.hash, seq = excluded.seq`,
    ),
    metadata: db.prepare<[], { epoch: string; aliveAtMs: number | null; changeSeq: number }>(
      'SELECT epoch, alive_at_ms AS aliveAtMs, change_seq AS changeSeq FROM metadata',
    ),
    beginEpoch: db.prepare('UPDATE metadata SET epoch = ?, change_seq = max(change_seq, ?)'),
    forgetDetails: db.prepare('DELETE FROM details'),
    beat: db.prepare('UPDATE metadata SET alive_at_ms = ?, change_seq = max(change_seq, ?)'),
    isLastOld: db
      .prepare<[{ beforeMs: number; belowSeq: number }], number>(
        `SELECT at_ms < @beforeMs AND seq <= @belowSeq FROM log
         WHERE seq = (SELECT min(seq) FROM log) AND seq = (SELECT max(seq) FROM log)`,
      )
      .pluck(),
    // The last row stays whatever its age: positions continue from it.
    prune: db.prepare(
      `DELETE FROM log WHERE at_ms < @beforeMs AND seq < @belowSeq AND seq < (SELECT max(seq) FROM log)
         AND seq IN (SELECT seq FROM log ORDER BY seq LIMIT @limit)`,
    ),
  };
}
