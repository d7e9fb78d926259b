import { asc, count, desc, eq, gte, min, sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { query, scalar, select, withBooleans, type Params, type RowOf } from '../../sqlite/query.ts';
import { dueReads, minutes, mirrorState } from '../file/schema.ts';
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

const COUNTED = 2_000;

/** Without requests held by the mass-removal guard. */
const GROUPS = query(() => {
  const urgent = select({
    reason: dueReads.reason,
    isSuspect: dueReads.isSuspect,
    firstMadeAtMs: dueReads.firstMadeAtMs,
  })
    .from(dueReads)
    .where(eq(dueReads.held, 0))
    .orderBy(asc(dueReads.priority), asc(dueReads.firstMadeAtMs))
    .limit(COUNTED + 1)
    .as('urgent');
  const products = count();
  return select({
    reason: urgent.reason,
    isSuspect: urgent.isSuspect,
    products,
    sinceMs: sql<number>`${min(urgent.firstMadeAtMs)}`,
  })
    .from(urgent)
    .groupBy(urgent.reason, urgent.isSuspect)
    .orderBy(desc(products));
});

export function pendingReads(db: Db) {
  const groups = GROUPS.all(db).map((group) => withBooleans(group, 'isSuspect'));
  const counted = groups.reduce((sum, { products }) => sum + products, 0);
  return {
    groups,
    /** Only the most urgent requests were counted. */
    isPartial: counted > COUNTED,
  };
}

export type PendingReads = ReturnType<typeof pendingReads>;

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
