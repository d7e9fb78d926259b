/** What the mirror’s file says about its state (src/ops/state/state.ts decides it). */
import { EARLIEST_MS } from '../../core/limits.ts';
import type { UntoldChange } from '../../core/model.ts';
import { and, desc, eq, gt, gte, isNotNull, isNull, lt, ne, notInArray, sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import {
  countOf,
  existsIn,
  flag,
  query,
  scalar,
  select,
  withBooleans,
  type Params,
} from '../../sqlite/query.ts';
import { dueReads, liveCounts, mirrorState, products, runs, serviceState } from '../file/schema.ts';

const WAITING_MS = 15 * 60_000;

const IS_GIVEN_UP = and(isNotNull(dueReads.failedAtMs), eq(dueReads.givenUp, 1));
const GIVEN_UP = select({ productId: dueReads.productId }).from(dueReads).where(IS_GIVEN_UP);

const LIST_GAP = scalar(
  select({ listGap: runs.listGap })
    .from(runs)
    .where(and(isNull(runs.productIdsJson), eq(runs.listDone, 1), ne(runs.state, 'failed')))
    .orderBy(desc(runs.id))
    .limit(1),
);

const FACTS = query((params: Params<{ nowMs: number }>) =>
  select({
    epoch: serviceState.epoch,
    trustedAfterMs: mirrorState.trustedAfterMs,
    wayIn: mirrorState.wayIn,
    wayInSinceMs: mirrorState.wayInSinceMs,
    lastWebhookAtMs: mirrorState.lastWebhookAtMs,
    untoldJson: mirrorState.untoldJson,
    products: liveCounts.products,
    hasFullSync: flag(isNotNull(serviceState.lastFullSyncAtMs)),
    /**
     * A live product was not read since the last downtime or epoch, and its reads are not given up. One that was never read
     * has missed nothing: its rows are `not_read`, and the others as they are.
     */
    hasUnread: existsIn(
      products,
      and(
        isNull(products.goneAtMs),
        gt(products.readAtMs, EARLIEST_MS),
        lt(products.readAtMs, mirrorState.trustedAfterMs),
        notInArray(products.productId, GIVEN_UP),
      ),
    ),
    /** Among those read since then; null if there is none. */
    oldestReadAtMs: sql<number | null>`(${select({ readAtMs: sql<number>`min(${products.readAtMs})` })
      .from(products)
      .where(
        and(
          isNull(products.goneAtMs),
          gte(products.readAtMs, mirrorState.trustedAfterMs),
          notInArray(products.productId, GIVEN_UP),
        ),
      )})`,
    /** A suspect product has waited too long for its read. */
    isReadOverdue: existsIn(
      dueReads,
      and(
        eq(dueReads.isSuspect, 1),
        lt(dueReads.firstMadeAtMs, sql`${params.nowMs} - ${WAITING_MS}`),
        notInArray(dueReads.productId, GIVEN_UP),
      ),
    ),
    /** Products whose reads the store refuses, or that failed repeatedly: all of them, and those not removed. */
    givenUpReads: countOf(dueReads, IS_GIVEN_UP),
    givenUpLive: countOf(
      sql`${dueReads} cross join ${products}`,
      and(eq(products.productId, dueReads.productId), IS_GIVEN_UP, isNull(products.goneAtMs)),
    ),
    /** Rows that the store could not list in the last list of its catalogue, in words. */
    listGap: LIST_GAP,
    /** Products held by the mass-removal guard, whole or in part. */
    heldRemovals: countOf(dueReads, eq(dueReads.held, 1)),
  })
    .from(mirrorState)
    .crossJoin(serviceState)
    .crossJoin(liveCounts),
);

/** @param nowMs the mirror's clock. */
export function stateFacts(db: Db, { nowMs }: { readonly nowMs: number }) {
  const { untoldJson, ...facts } = FACTS.one(db, { nowMs });
  const untold = JSON.parse(untoldJson ?? 'null') as UntoldChange | null;
  return { ...withBooleans(facts, 'hasFullSync', 'hasUnread', 'isReadOverdue'), untold };
}

export type StateFacts = Readonly<ReturnType<typeof stateFacts>>;
