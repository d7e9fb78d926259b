import { asc, gte, sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { query, scalar, select, type Params, type RowOf } from '../../sqlite/query.ts';
import { minutes, mirrorState } from '../file/schema.ts';
import { mirrorStatus } from '../file/view-columns.ts';

const GLANCE = query(() =>
  select({
    state: mirrorStatus.state,
    state_cause: mirrorStatus.state_cause,
    causes: mirrorStatus.causes,
    last_delivery_at: mirrorStatus.last_delivery_at,
    last_accepted_at: scalar(select({ atMs: mirrorState.lastWebhookAtMs }).from(mirrorState)),
    last_full_sync_at: mirrorStatus.last_full_sync_at,
    oldest_verified_at: mirrorStatus.oldest_verified_at,
    open_gaps: mirrorStatus.open_gaps,
    last_seq: mirrorStatus.last_seq,
    alive_at: mirrorStatus.alive_at,
  }).from(mirrorStatus),
);

/** Columns of the status that cost next to nothing, whatever the mirror's size. */
export function glance(db: Db): RowOf<typeof GLANCE> {
  return GLANCE.one(db);
}

const CAUSES = query(() => select({ causes: mirrorStatus.causes }).from(mirrorStatus));

/** The causes of the state, as JSON. */
export function shownCauses(db: Db): string {
  return CAUSES.one(db).causes;
}

export interface NotedMinute {
  readonly minute: number;
  readonly values: Readonly<Record<string, number>>;
}

const NOTED = query((params: Params<{ sinceMs: number }>) =>
  select({ minute: minutes.minute, valuesJson: minutes.valuesJson })
    .from(minutes)
    .where(gte(minutes.minute, sql`${params.sinceMs} / 60000`))
    .orderBy(asc(minutes.minute)),
);

export function notedMinutes(db: Db, args: { readonly sinceMs: number }): NotedMinute[] {
  return NOTED.all(db, args).map(({ minute, valuesJson }) => ({
    minute,
    values: JSON.parse(valuesJson) as NotedMinute['values'],
  }));
}
