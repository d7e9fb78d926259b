/** What the mirror’s file says about its state (src/ops/state/state.ts decides it). */
import type { Db } from '../../sqlite/open.ts';
import { idsAmong, onlyRow, prepared } from '../../sqlite/prepared.ts';

export interface StateFacts {
  readonly epoch: string;
  readonly trustedAfterMs: number;
  readonly products: number;
  readonly lastDeliveryAtMs: number | null;
  readonly hasFullSync: boolean;
  /** A live product was not read since the last downtime or epoch, and its reads are not given up. */
  readonly hasUnread: boolean;
  /** A suspect product has waited too long for its read. */
  readonly isReadOverdue: boolean;
  /** Products whose reads the store refuses, or that failed repeatedly: all of them, and those not removed. */
  readonly parkedReads: number;
  readonly parkedLive: number;
  /** Products held by the mass-removal guard, whole or in part. */
  readonly heldRemovals: number;
}

const WAITING_MS = 15 * 60_000;

const UNLESS_GIVEN_UP =
  'product_id NOT IN (SELECT product_id FROM due_reads WHERE failed_at_ms IS NOT NULL AND given_up = 1)';

const FACTS = `
  SELECT
    s.epoch AS epoch,
    m.trusted_after_ms AS trustedAfterMs,
    (SELECT products FROM live_counts) AS products,
    m.last_delivery_at_ms AS lastDeliveryAtMs,
    s.last_full_sync_at_ms IS NOT NULL AS hasFullSync,
    EXISTS (
      SELECT 1 FROM products
      WHERE gone_at_ms IS NULL AND read_at_ms < m.trusted_after_ms AND ${UNLESS_GIVEN_UP}
    ) AS hasUnread,
    EXISTS (
      SELECT 1 FROM due_reads
      WHERE is_suspect = 1 AND first_made_at_ms < coalesce(@nowMs, s.clock_ms) - ${WAITING_MS} AND ${UNLESS_GIVEN_UP}
    ) AS isReadOverdue,
    (SELECT count(*) FROM due_reads WHERE failed_at_ms IS NOT NULL AND given_up = 1) AS parkedReads,
    (
      SELECT count(*) FROM due_reads r CROSS JOIN products p ON p.product_id = r.product_id
      WHERE r.failed_at_ms IS NOT NULL AND r.given_up = 1 AND p.gone_at_ms IS NULL
    ) AS parkedLive,
    (SELECT count(*) FROM due_reads WHERE held = 1) AS heldRemovals
  FROM mirror_state m, service_state s`;

type Flags = 'hasFullSync' | 'hasUnread' | 'isReadOverdue';

/** @param nowMs the mirror's clock; null outside its process, where the last heartbeat counts. */
export function stateFacts(db: Db, { nowMs }: { readonly nowMs: number | null }): StateFacts {
  type Row = Omit<StateFacts, Flags> & Readonly<Record<Flags, number>>;
  const row = onlyRow(prepared<[object], Row>(db, FACTS), { nowMs });
  return {
    ...row,
    hasFullSync: row.hasFullSync === 1,
    hasUnread: row.hasUnread === 1,
    isReadOverdue: row.isReadOverdue === 1,
  };
}

/** Which of these variants a read has shown. */
export function knownVariants(db: Db, { variantIds }: { readonly variantIds: readonly string[] }): string[] {
  return idsAmong(
    db,
    variantIds,
    'JOIN variants v ON v.variant_id = l.value WHERE v.product_id IS NOT NULL AND v.gone_at_ms IS NULL',
  );
}
