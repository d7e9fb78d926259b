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
    history: db.prepare<
      [],
      {
        epoch: string;
        epochSeq: number | null;
        epochBefore: string | null;
        inode: string | null;
        bornAtMs: number | null;
        aliveAtMs: number | null;
        rules: string;
      }
    >(
      `SELECT epoch, epoch_seq AS epochSeq, epoch_before AS epochBefore, file_inode AS inode,
         file_born_at_ms AS bornAtMs, alive_at_ms AS aliveAtMs, rules FROM history`,
    ),
    reachedFrom: db
      .prepare<[number], string | null>(
        `SELECT CAST(payload AS TEXT) ->> '$.reachedFrom' FROM log WHERE seq = ? AND kind = 'epoch'`,
      )
      .pluck(),
    beyondEntries: db.prepare(
      `SELECT 1 FROM log WHERE kind = 'epoch' AND CAST(payload AS TEXT) ->> '$.reachedFrom.low' > 0`,
    ),
    noteRules: db.prepare('UPDATE history SET rules = ?'),
    recordFile: db.prepare('UPDATE history SET file_inode = ?, file_born_at_ms = ?'),
    beginEpoch: db.prepare(
      `UPDATE history SET epoch_before = @epochBefore, epoch = @epoch, epoch_seq = @seq, file_inode = @inode,
         file_born_at_ms = @bornAtMs, alive_at_ms = NULL`,
    ),
    beat: db.prepare('UPDATE history SET alive_at_ms = ?'),
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
