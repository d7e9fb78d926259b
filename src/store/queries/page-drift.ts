/** Differences that reads found and corrected: newest first, by an index of its own. */
import type { Db } from '../open.ts';
import { prepared } from '../prepared.ts';

/** Why a read's correction was due. `derived`: a bundle's total, which moves with its components. */
export const CORRECTION_CAUSES = [
  'gap',
  'lost_tail',
  'downtime',
  'conflict',
  'derived',
  'removed',
  'restored',
] as const;
export type CorrectionCause = (typeof CORRECTION_CAUSES)[number];

export interface Correction {
  readonly seq: number;
  readonly variantId: string;
  readonly productId: string | null;
  /** Null: the variant's total. */
  readonly warehouseId: string | null;
  readonly sku: string | null;
  readonly oldQty: number | null;
  /** Null: it is no longer in the store. */
  readonly newQty: number | null;
  readonly cause: CorrectionCause;
  readonly recordedAtMs: number;
  /** No re-read request is open for it any more. */
  readonly isClosed: boolean;
}

export interface Corrections {
  readonly corrections: readonly Correction[];
  readonly hasMore: boolean;
}

const OF_CAUSE = `
  SELECT c.seq AS seq, c.variant_id AS variantId, v.product_id AS productId, c.warehouse_id AS warehouseId,
    c.sku AS sku, c.old_qty AS oldQty, c.new_qty AS newQty, c.reason AS cause, c.recorded_at_ms AS recordedAtMs,
    NOT (
      EXISTS (SELECT 1 FROM obligations o WHERE o.product_id = v.product_id AND o.doubt = 1)
      OR EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = c.variant_id AND g.warehouse_id = c.warehouse_id)
    ) AS isClosed
  FROM changes c LEFT JOIN variants v ON v.variant_id = c.variant_id
  WHERE c.source = 'read' AND c.reason <> 'first_read' AND c.reason = @cause AND c.seq < @beforeSeq
  ORDER BY c.seq DESC LIMIT @limit`;

export function corrections(
  db: Db,
  args: {
    readonly causes: readonly CorrectionCause[];
    readonly beforeSeq: number | null;
    readonly limit: number;
  },
): Corrections {
  const beforeSeq = args.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const found = args.causes
    .flatMap((cause) =>
      prepared<object, Omit<Correction, 'isClosed'> & { isClosed: number }>(db, OF_CAUSE).all({
        cause,
        beforeSeq,
        limit: args.limit + 1,
      }),
    )
    .toSorted((a, b) => b.seq - a.seq);
  return {
    corrections: found.slice(0, args.limit).map((row) => ({ ...row, isClosed: row.isClosed === 1 })),
    hasMore: found.length > args.limit,
  };
}
