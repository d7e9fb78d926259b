/**
 * Writes of the running mirror that are not part of the projection: its epoch, its heartbeat, its runs, its failed
 * reads.
 */
import type { Db } from './open.ts';
import type { Pruned } from './pruned.ts';

export type RunKind = 'initial' | 'downtime' | 'restart' | 'scheduled' | 'operator' | 'products';
export type RunState = 'running' | 'done' | 'failed';

export interface NewRun {
  readonly kind: RunKind;
  readonly startedAtMs: number;
  readonly readAfterMs: number;
  readonly startedSeq: number;
  readonly total: number;
  /** Null: the whole catalogue. */
  readonly productIds: readonly string[] | null;
}

export interface ReadFailure {
  readonly productId: string;
  readonly attempts: number;
  readonly nextAtMs: number;
  readonly parked: boolean;
  readonly error: string;
  readonly failedAtMs: number;
  /** When the store last answered anything: a failure while it answers nothing is not the product's fault. */
  readonly answeredAtMs: number;
}

export interface PruneArgs {
  readonly beforeMs: number;
  readonly limit: number;
  /** Of what the event log still has. */
  readonly firstLogSeq: number;
  readonly lastLogSeq: number;
}

export interface RunProgress {
  readonly id: number;
  readonly total: number;
  readonly done: number;
  readonly failed: number;
}

/** Prepares the statements once; each command runs inside the writer's transaction. */
export function prepareCommands(db: Db) {
  // As before the first start: never alive, never read whole.
  const beginEpoch = db.prepare(
    'UPDATE service_state SET epoch = ?, alive_at_ms = NULL, last_full_sync_at_ms = NULL',
  );
  const endRuns = db.prepare(
    `UPDATE runs SET state = 'failed', finished_at_ms = ?, error = 'history has started again'
     WHERE state = 'running'`,
  );
  const alive = db.prepare('UPDATE service_state SET alive_at_ms = ?');
  const createRun = db.prepare(
    `INSERT INTO runs (kind, state, started_at_ms, read_after_ms, product_ids_json, list_offset, list_done,
       started_seq, total, done, drift, failed)
     VALUES (?, 'running', ?, ?, ?, 0, ?, ?, ?, 0, 0, 0)`,
  );
  const checkpoint = db.prepare(
    'UPDATE runs SET list_offset = ?, list_last_id = ?, list_done = ?, total = max(total, ?) WHERE id = ?',
  );
  const progress = db.prepare('UPDATE runs SET total = max(total, ?), done = ?, failed = ? WHERE id = ?');
  const drift = db.prepare('UPDATE runs SET drift = drift + ? WHERE id = ?');
  const finish = db.prepare('UPDATE runs SET state = ?, finished_at_ms = ?, error = ? WHERE id = ?');
  const synced = db.prepare('UPDATE service_state SET last_full_sync_at_ms = ?');
  const fail = db.prepare(
    `INSERT INTO read_failures (product_id, attempts, faults, next_at_ms, parked, error, failed_at_ms)
     VALUES (@productId, @attempts, 1, @nextAtMs, @parked, @error, @failedAtMs)
     ON CONFLICT (product_id) DO UPDATE SET attempts = excluded.attempts,
       faults = faults + (@answeredAtMs > failed_at_ms), next_at_ms = excluded.next_at_ms,
       parked = excluded.parked, error = excluded.error, failed_at_ms = excluded.failed_at_ms`,
  );
  const clearFailure = db.prepare('DELETE FROM read_failures WHERE product_id = ?');
  // A read that is given up stays so until it succeeds.
  const retryFailures = db.prepare('UPDATE read_failures SET next_at_ms = 0, attempts = 0');
  const forgetEdit = db.prepare('DELETE FROM hand_edits WHERE product_id = ?');
  const forgetFailures = db.prepare('DELETE FROM read_failures');
  // After their log entries, so that the oldest go first, without a hole.
  const pruneChanges = db
    .prepare<[PruneArgs], number>(
      `DELETE FROM changes WHERE seq IN (SELECT seq FROM changes ORDER BY seq LIMIT @limit) AND (
       log_seq < @firstLogSeq
       OR (recorded_at_ms < @beforeMs AND log_seq = @firstLogSeq AND log_seq = @lastLogSeq)
     ) RETURNING seq`,
    )
    .pluck();
  const notePruned = db.prepare('UPDATE service_state SET pruned_change_seq = max(pruned_change_seq, ?)');
  const pruneQuarantine = db.prepare(
    `DELETE FROM quarantine WHERE log_seq < @firstLogSeq
       AND id IN (SELECT id FROM quarantine ORDER BY id LIMIT @limit)`,
  );
  const pruneRuns = db.prepare(
    `DELETE FROM runs WHERE finished_at_ms < @beforeMs AND id IN (SELECT id FROM runs ORDER BY id LIMIT @limit)`,
  );

  return {
    /** What the mirror knew of its own runs belongs to another history: none of it may delay the full read. */
    beginEpoch: (args: { epoch: string; atMs: number }): void => {
      beginEpoch.run(args.epoch);
      endRuns.run(args.atMs);
      forgetFailures.run();
    },
    alive: (args: { atMs: number }): void => void alive.run(args.atMs),
    /**
     * The run retries what failed before, or it would end without that product; in the same transaction, so that it
     * is retried once.
     */
    createRun: (run: NewRun): number => {
      retryFailures.run();
      const { lastInsertRowid } = createRun.run(
        run.kind,
        run.startedAtMs,
        run.readAfterMs,
        run.productIds === null ? null : JSON.stringify(run.productIds),
        run.productIds === null ? 0 : 1,
        run.startedSeq,
        run.total,
      );
      return Number(lastInsertRowid);
    },
    checkpointRun: (at: {
      id: number;
      listOffset: number;
      listLastId: string | null;
      listDone: boolean;
      total: number;
    }): void => void checkpoint.run(at.listOffset, at.listLastId, at.listDone ? 1 : 0, at.total, at.id),
    progressRun: (at: RunProgress): void => void progress.run(at.total, at.done, at.failed, at.id),
    addDrift: (args: { id: number; drift: number }): void => void drift.run(args.drift, args.id),
    /** @param args.fullSync the catalogue was read whole. */
    finishRun: (args: {
      id: number;
      state: RunState;
      atMs: number;
      error: string | null;
      fullSync: boolean;
    }): void => {
      finish.run(args.state, args.atMs, args.error, args.id);
      if (args.fullSync) synced.run(args.atMs);
    },
    failRead: (failure: ReadFailure): void => void fail.run({ ...failure, parked: failure.parked ? 1 : 0 }),
    clearFailure: (args: { productId: string }): void => void clearFailure.run(args.productId),
    /** Everything parked or waiting is tried again, once, without delay. */
    retryFailures: (): void => void retryFailures.run(),
    /** Their re-read requests are recorded. */
    forgetEdits: (args: { productIds: readonly string[] }): void => {
      for (const productId of args.productIds) forgetEdit.run(productId);
    },
    /** Deletes at most `limit` of the oldest rows of each kind, after the entries that they came from. */
    prune: (args: PruneArgs): Omit<Pruned, 'log'> => {
      const pruned = pruneChanges.all(args);
      if (pruned.length > 0) notePruned.run(Math.max(...pruned));
      return {
        changes: pruned.length,
        quarantine: pruneQuarantine.run(args).changes,
        runs: pruneRuns.run(args).changes,
      };
    },
  };
}

export type Commands = ReturnType<typeof prepareCommands>;
export type CommandName = keyof Commands;
export type CommandArgs<N extends CommandName> = Parameters<Commands[N]>[0];
export type CommandResult<N extends CommandName> = ReturnType<Commands[N]>;
