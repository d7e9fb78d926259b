import type { WayIn } from '../../core/model.ts';
import type { Run } from '../../core/runs.ts';
import type { Db } from '../../sqlite/open.ts';
import { onlyRow, prepareRows } from '../../sqlite/prepared.ts';
import type { MirrorState } from '../file/state.ts';
import { prepareFailure, RETRY_FAILURES } from './failures.ts';
import { preparePrune } from './prune.ts';
import { prepareProgress } from './run-progress.ts';

/** Plots show one day. */
const MINUTES_KEPT = 24 * 60;

export interface WrittenState {
  readonly state: MirrorState;
  readonly stateCause: string | null;
}

interface Heartbeat extends WrittenState {
  /** The host's clock: readers compare it with theirs. */
  readonly atMs: number;
  readonly clockMs: number;
  /** What the decision knew. */
  readonly epoch: string;
  readonly trustedAfterMs: number;
  readonly wayIn: WayIn['wayIn'];
  /** Rows with older evidence are not trusted. */
  readonly checkedSinceMs: number;
}

/** Each command runs inside the apply thread's transaction. */
export function prepareCommands(db: Db, inbox: Db) {
  // What came after the decision makes it wrong; the next heartbeat decides again.
  const written = (decided: string, then: Record<'missing' | 'unproven' | 'barrier', string>): string => `CASE
    WHEN @state = 'stale' THEN ${decided}
    WHEN mirror_state.way_in = 'missing' AND @wayIn <> 'missing' THEN '${then.missing}'
    WHEN mirror_state.way_in = 'unproven' AND @wayIn <> 'unproven' THEN '${then.unproven}'
    WHEN @state = 'live' AND (@epoch <> epoch OR @trustedAfterMs < mirror_state.trusted_after_ms)
      THEN '${then.barrier}'
    ELSE ${decided}
  END`;
  const STATE = written('@state', { missing: 'stale', unproven: 'catching_up', barrier: 'catching_up' });
  const CAUSE = written('@stateCause', {
    missing: 'webhooks_missing',
    unproven: 'unproven',
    barrier: 'downtime',
  });
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
        checked_since_ms = @checkedSinceMs,
        state = ${STATE},
        state_cause = ${CAUSE}
      FROM mirror_state
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
    list_gap = @listGap,
    total = max(total, @total)`);
  const retryFailures = db.prepare(RETRY_FAILURES);
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
    prune: preparePrune(db, inbox),
  };
}

export type Commands = ReturnType<typeof prepareCommands>;
export type CommandName = keyof Commands;
export type CommandArgs<N extends CommandName> = Parameters<Commands[N]>[0];
export type CommandResult<N extends CommandName> = ReturnType<Commands[N]>;
