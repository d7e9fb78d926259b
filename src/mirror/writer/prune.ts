/** Deletes old rows of the mirror, a few at a time, and releases those of the inbox (src/mirror/retention.ts). */
import type { InboxRow } from '../../inbox/inbox-file.ts';
import { isDamage } from '../../sqlite/errors.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepareRows } from '../../sqlite/prepared.ts';

/** At most `limit` of the oldest rows of each kind that are older than `beforeMs`, own clock. */
interface Prune {
  readonly beforeMs: number;
  /** Rows of the inbox stamped after it were stamped by a wrong clock, and are old enough. */
  readonly afterMs: number;
  readonly limit: number;
}

/** @returns a function that returns how many rows of each kind were deleted, or released for the receiver to delete. */
export function preparePrune(db: Db, inbox: Db) {
  const pruneChanges = db
    .prepare<[Prune], number>(
      `DELETE FROM changes WHERE recorded_at_ms < @beforeMs
         AND seq IN (SELECT seq FROM changes ORDER BY seq LIMIT @limit) RETURNING seq`,
    )
    .pluck();
  const notePruned = db.prepare('UPDATE service_state SET pruned_change_seq = max(pruned_change_seq, ?)');
  // Up to the first younger one, although a later one may have arrived earlier: ids stay consecutive, so that
  // their number is known without counting.
  const pruneDeadLetters = db.prepare<[Prune]>(`
    WITH oldest AS (SELECT id, arrived_at_ms FROM dead_letters ORDER BY id LIMIT @limit)
    DELETE FROM dead_letters
    WHERE id <= (SELECT max(id) FROM oldest)
      AND id < coalesce((SELECT min(id) FROM oldest WHERE arrived_at_ms >= @beforeMs), id + 1)`);
  // The last catalogue run that is done stays: it shows that everything was read after the barrier.
  const pruneRuns = db.prepare<[Prune]>(
    `DELETE FROM runs WHERE finished_at_ms < @beforeMs
       AND id IN (SELECT id FROM runs ORDER BY id LIMIT @limit)
       AND id NOT IN (
         SELECT id FROM runs WHERE state = 'done' AND product_ids_json IS NULL AND kind <> 'search'
         ORDER BY read_after_ms DESC LIMIT 1
       )`,
  );
  const pruneDeliveries = db.prepare<[{ readonly firstSeq: number; readonly limit: number }]>(
    `DELETE FROM deliveries WHERE inbox_seq < @firstSeq
       AND inbox_seq IN (SELECT inbox_seq FROM deliveries ORDER BY inbox_seq LIMIT @limit)`,
  );
  const selectFirstSeq = inbox.prepare<[], number | null>('SELECT min(seq) FROM inbox').pluck();
  const firstSeq = (): number => unlessDamaged(() => selectFirstSeq.get() ?? 0) ?? 0;
  const releaseInbox = prepareRelease(db, inbox);
  return (args: Prune) => {
    const changes = pruneChanges.all(args);
    if (changes.length > 0) notePruned.run(Math.max(...changes));
    return {
      changes: changes.length,
      deadLetters: pruneDeadLetters.run(args).changes,
      runs: pruneRuns.run(args).changes,
      deliveries: pruneDeliveries.run({ firstSeq: firstSeq(), limit: args.limit }).changes,
      inboxRows: releaseInbox(args),
    };
  };
}

/** Lets the receiver delete applied rows; a row that is not applied, or the last applied one, is never among them. */
function prepareRelease(db: Db, inbox: Db): (args: Prune) => number {
  const prunable = prepareRows<[], { readonly prunableSeq: number; readonly inboxSeq: number }>(
    db,
    {
      prunableSeq: 'service_state.inbox_prunable_seq',
      inboxSeq: 'mirror_state.inbox_seq',
    },
    (columns) => `SELECT ${columns} FROM service_state, mirror_state`,
  );
  const inboxAfter = prepareRows<[number, number], Pick<InboxRow, 'seq' | 'arrivedAtMs'>>(
    inbox,
    {
      seq: 'seq',
      arrivedAtMs: 'arrived_at_ms',
    },
    (columns) => `SELECT ${columns} FROM inbox WHERE seq > ? ORDER BY seq LIMIT ?`,
  );
  const putPrunable = db.prepare<[number]>('UPDATE service_state SET inbox_prunable_seq = ?');
  return ({ beforeMs, afterMs, limit }) => {
    const at = prunable.get();
    if (at === undefined) return 0;
    const old = unlessDamaged(() => {
      const seqs: number[] = [];
      for (const { seq, arrivedAtMs } of inboxAfter.iterate(at.prunableSeq, limit)) {
        const isOld = arrivedAtMs < beforeMs || arrivedAtMs > afterMs;
        if (!isOld || seq >= at.inboxSeq) break;
        seqs.push(seq);
      }
      return seqs;
    });
    // The receiver meets the damage as it deletes the rows, and replaces the file.
    const upToSeq = old === null ? at.inboxSeq - 1 : old.at(-1);
    if (upToSeq !== undefined) putPrunable.run(upToSeq);
    return old?.length ?? 0;
  };
}

/** null if the inbox is damaged where it is read. The mirror needs none of these rows. */
function unlessDamaged<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}
