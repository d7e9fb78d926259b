import type { WayIn } from '../../core/model.ts';
import type { Run } from '../../core/runs.ts';
import type { Db } from '../../sqlite/open.ts';
import type { MirrorState } from '../file/state.ts';
import { prepareFailure, RETRY_FAILURES } from './failures.ts';
import { preparePrune } from './prune.ts';
import { prepareProgress } from './run-progress.ts';

/** Plots show one day. */
const MINUTES_KEPT = 24 * 60;

interface MirrorHeartbeat {
  /** The host's clock: readers compare it with theirs. */
  readonly atMs: number;
  readonly clockMs: number;
  /** Known to the decision. */
  readonly epoch: string;
  readonly trustedAfterMs: number;
  readonly wayIn: WayIn['wayIn'];
  /** Rows with older evidence are not trusted. */
  readonly checkedSinceMs: number;
  readonly state: MirrorState;
  /** The code of the first cause of the state. */
  readonly stateCause: string | null;
  readonly causesJson: string;
}

/** Each command runs inside the apply thread's transaction. */
export function prepareCommands(db: Db, inbox: Db) {
  const alive = db.prepare<[MirrorHeartbeat]>(`
    UPDATE service_state SET
      alive_at_ms = @atMs,
      clock_ms = @clockMs,
      checked_since_ms = @checkedSinceMs,
      state = @state,
      state_cause = @stateCause,
      causes_json = @causesJson
    WHERE epoch = @epoch
      AND EXISTS (SELECT 1 FROM mirror_state WHERE trusted_after_ms = @trustedAfterMs AND way_in = @wayIn)`);
  const unnameWarehouses = db.prepare(
    'DELETE FROM warehouse_names WHERE warehouse_id IN (SELECT key FROM json_each(?) WHERE value IS NULL)',
  );
  const nameWarehouses = db.prepare(
    `INSERT INTO warehouse_names (warehouse_id, name) SELECT key, value FROM json_each(?) WHERE value IS NOT NULL
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
    list_gap = @listGap,
    total = max(total, @total)`);
  const retryFailures = db.prepare(RETRY_FAILURES);
  return {
    /** @returns false, and writes nothing, if the decision is of another moment. */
    alive: (args: MirrorHeartbeat): boolean => alive.run(args).changes === 1,
    noteMinute: (at: { minute: number; values: Readonly<Record<string, number>> }): void => {
      noteMinute.run(at.minute, JSON.stringify(at.values));
      forgetMinutes.run(at.minute - MINUTES_KEPT);
    },
    /** null removes a name. Warehouses that are not mentioned keep theirs. */
    nameWarehouses: (args: { names: Readonly<Record<string, string | null>> }): void => {
      const names = JSON.stringify(args.names);
      unnameWarehouses.run(names);
      nameWarehouses.run(names);
    },
    checkpointRun: (run: Run): void => void checkpoint.run({ ...run, listDone: run.listDone ? 1 : 0 }),
    progressRun: prepareProgress(db),
    failRead: prepareFailure(db),
    retryFailures: (): void => void retryFailures.run(),
    prune: preparePrune(db, inbox),
  };
}

export type Commands = ReturnType<typeof prepareCommands>;
export type CommandName = keyof Commands;
export type CommandArgs<N extends CommandName> = Parameters<Commands[N]>[0];
export type CommandResult<N extends CommandName> = ReturnType<Commands[N]>;
