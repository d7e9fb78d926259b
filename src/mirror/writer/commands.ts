import type { Run } from '../../core/runs.ts';
import type { InboxRow } from '../../inbox/inbox-file.ts';
import type { Db } from '../../sqlite/open.ts';
import { onlyRow, prepareRows } from '../../sqlite/prepared.ts';
import type { MirrorState } from '../file/state.ts';
import { prepareFailure, RETRY_FAILURES } from './failures.ts';
import { prepareProgress } from './run-progress.ts';

/** Plots show one day; unusual silence is judged by eight. */
const MINUTES_KEPT = 8 * 24 * 60;

/** At most `limit` of the oldest rows of each kind that are older than `beforeMs`, own clock. */
interface Prune {
  readonly beforeMs: number;
  readonly limit: number;
}

export interface WrittenState {
  readonly state: MirrorState;
  readonly stateCause: string | null;
}

interface Heartbeat extends WrittenState {
  /** The host's clock: readers compare it with theirs. */
  readonly atMs: number;
  readonly clockMs: number;
  /** The epoch and barrier that the decision knew. */
  readonly epoch: string;
  readonly trustedAfterMs: number;
  /** When a webhook of the store was last accepted; null if unknown, which leaves the stored instant unchanged. */
  readonly acceptedAtMs: number | null;
}

/** Each command runs inside the apply thread's transaction. */
export function prepareCommands(db: Db, inbox: Db) {
  // A barrier or epoch that came after the decision makes `live` wrong; the next heartbeat decides again.
  const OVERTAKEN = `@state = 'live' AND (
    @epoch <> epoch OR @trustedAfterMs < (SELECT trusted_after_ms FROM mirror_state)
  )`;
  const alive = prepareRows<[Heartbeat], WrittenState>(
    db,
    {
      state: 'state',
      stateCause: 'state_cause',
    },
    (columns) => `
      UPDATE service_state SET
        alive_at_ms = @atMs,
        clock_ms = @clockMs,
        accepted_at_ms = coalesce(@acceptedAtMs, accepted_at_ms),
        state = CASE WHEN ${OVERTAKEN} THEN 'catching_up' ELSE @state END,
        state_cause = CASE WHEN ${OVERTAKEN} THEN 'downtime' ELSE @stateCause END
      RETURNING ${columns}`,
  );
  const forgetWarehouses = db.prepare(
    'DELETE FROM warehouse_names WHERE warehouse_id NOT IN (SELECT key FROM json_each(?))',
  );
  const nameWarehouses = db.prepare(
    `INSERT INTO warehouse_names (warehouse_id, name) SELECT key, value FROM json_each(?) WHERE true
     ON CONFLICT (warehouse_id) DO UPDATE SET name = excluded.name WHERE name <> excluded.name`,
  );
  const noteMinute = db.prepare('INSERT OR REPLACE INTO minutes (minute, values_json) VALUES (?, ?)');
  const forgetMinutes = db.prepare('DELETE FROM minutes WHERE minute <= ?');
  // An ended run stays as its input left it; in a new file, another run may have the number.
  const THIS_RUN = `id = @id AND started_at_ms = @startedAtMs AND state = 'running'`;
  const ofRun = (set: string) => db.prepare(`UPDATE runs SET ${set} WHERE ${THIS_RUN}`);
  const checkpoint = ofRun(`
    list_offset = @listOffset,
    list_last_id = @listLastId,
    list_done = @listDone,
    total = max(total, @total)`);
  const retryFailures = db.prepare(RETRY_FAILURES);
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
  const pruneDeliveries = db.prepare<[number]>('DELETE FROM deliveries WHERE inbox_seq < ?');
  const firstInboxSeq = inbox.prepare<[], number | null>('SELECT min(seq) FROM inbox').pluck();
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
  /** Lets the receiver delete applied rows; a row that is not applied, or the last applied one, is never among them. */
  const releaseInbox = ({ beforeMs, limit }: Prune): number => {
    const at = prunable.get();
    if (at === undefined) return 0;
    let upToSeq = at.prunableSeq;
    let released = 0;
    for (const { seq, arrivedAtMs } of inboxAfter.iterate(at.prunableSeq, limit)) {
      if (arrivedAtMs >= beforeMs || seq >= at.inboxSeq) break;
      upToSeq = seq;
      released += 1;
    }
    if (released > 0) putPrunable.run(upToSeq);
    return released;
  };

  return {
    alive: (args: Heartbeat): WrittenState => onlyRow(alive, args),
    noteMinute: (at: { minute: number; values: Readonly<Record<string, number>> }): void => {
      noteMinute.run(at.minute, JSON.stringify(at.values));
      forgetMinutes.run(at.minute - MINUTES_KEPT);
    },
    nameWarehouses: (args: { names: Readonly<Record<string, string>> }): void => {
      const names = JSON.stringify(args.names);
      forgetWarehouses.run(names);
      nameWarehouses.run(names);
    },
    checkpointRun: (run: Run): void => void checkpoint.run({ ...run, listDone: run.listDone ? 1 : 0 }),
    progressRun: prepareProgress(db),
    failRead: prepareFailure(db),
    retryFailures: (): void => void retryFailures.run(),
    /** @returns how many rows of each kind were deleted, or released for the receiver to delete. */
    prune: (args: Prune) => {
      const changes = pruneChanges.all(args);
      if (changes.length > 0) notePruned.run(Math.max(...changes));
      return {
        changes: changes.length,
        deadLetters: pruneDeadLetters.run(args).changes,
        runs: pruneRuns.run(args).changes,
        deliveries: pruneDeliveries.run(firstInboxSeq.get() ?? 0).changes,
        inboxRows: releaseInbox(args),
      };
    },
  };
}

export type Commands = ReturnType<typeof prepareCommands>;
export type CommandName = keyof Commands;
export type CommandArgs<N extends CommandName> = Parameters<Commands[N]>[0];
export type CommandResult<N extends CommandName> = ReturnType<Commands[N]>;
