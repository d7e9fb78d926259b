import type { Db } from '../../sqlite/open.ts';
import { onlyRow, prepared } from '../../sqlite/prepared.ts';
import type { Status } from './status.ts';

/** Columns of the status that cost next to nothing, whatever the mirror's size. */
export function glance(db: Db): Partial<Status> {
  const sql = `
    SELECT state, state_cause, last_delivery_at, (SELECT accepted_at_ms FROM service_state) AS last_accepted_at, last_full_sync_at,
      oldest_verified_at, open_gaps, last_seq, alive_at
    FROM mirror_status`;
  return onlyRow(prepared<[], Partial<Status>>(db, sql));
}

interface RequestGroup {
  readonly reason: string;
  readonly products: number;
  readonly isSuspect: boolean;
  readonly sinceMs: number;
}

export interface PendingReads {
  readonly groups: readonly RequestGroup[];
  /** Only the most urgent requests were counted. */
  readonly isPartial: boolean;
}

const COUNTED = 2_000;

const GROUPS = `
  SELECT reason, is_suspect AS isSuspect, count(*) AS products, min(first_made_at_ms) AS sinceMs
  FROM (
    SELECT * FROM due_reads WHERE held = 0
    ORDER BY priority, first_made_at_ms LIMIT ${COUNTED + 1}
  )
  GROUP BY reason, is_suspect ORDER BY products DESC`;

/** Without requests held by the mass-removal guard. */
export function pendingReads(db: Db): PendingReads {
  type Row = Omit<RequestGroup, 'isSuspect'> & { readonly isSuspect: number };
  const rows = prepared<[], Row>(db, GROUPS).all();
  return {
    groups: rows.map((row) => ({ ...row, isSuspect: row.isSuspect === 1 })),
    isPartial: rows.reduce((sum, { products }) => sum + products, 0) > COUNTED,
  };
}

export interface NotedMinute {
  readonly minute: number;
  readonly values: Readonly<Record<string, number>>;
}

export function notedMinutes(db: Db, args: { readonly sinceMs: number }): NotedMinute[] {
  return prepared<object, { minute: number; valuesJson: string }>(
    db,
    'SELECT minute, values_json AS valuesJson FROM minutes WHERE minute >= @sinceMs / 60000 ORDER BY minute',
  )
    .all(args)
    .map(({ minute, valuesJson }) => ({
      minute,
      values: JSON.parse(valuesJson) as NotedMinute['values'],
    }));
}
