/** Products that need a decision or a look: held removals, and reads that fail. */
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';

export const OPEN_READ_KINDS = ['held', 'failing'] as const;
export type OpenReadKind = (typeof OPEN_READ_KINDS)[number];

interface MissingRows {
  /** The product, with everything in it. */
  readonly product: boolean;
  readonly variants: number;
  readonly levels: number;
}

interface OpenRead {
  readonly productId: string;
  /** null if no read has shown the product. */
  readonly name: string | null;
  readonly sinceMs: number;
  /** Rows of the mirror that the latest read did not show. */
  readonly missing: MissingRows;
  readonly failedAtMs: number | null;
  readonly lastError: string | null;
  readonly attempts: number;
  /** Earliest retry; null if the store refused the read: only a schedule, a run or an operator's request tries again. */
  readonly retryAtMs: number | null;
}

interface OpenReadPage {
  readonly reads: readonly OpenRead[];
  /** `after` of the next page; null on the last page. */
  readonly next: string | null;
}

interface OpenReadsArgs {
  readonly kind: OpenReadKind;
  /** `next` of the previous page; empty for the first page. */
  readonly after: string;
  readonly limit: number;
}

const CONDITIONS: Readonly<Record<OpenReadKind, string>> = {
  held: 'due_reads.held = 1',
  failing: 'due_reads.failed_at_ms IS NOT NULL',
};

const OPEN_READS = `
  SELECT
    due_reads.product_id AS productId,
    products.name AS name,
    due_reads.first_made_at_ms AS firstMadeAtMs,
    products.missing_at_ms AS productMissingAtMs,
    (
      SELECT count(*) FROM variants
      WHERE variants.product_id = due_reads.product_id
        AND variants.missing_at_ms IS NOT NULL AND variants.gone_at_ms IS NULL
    ) AS missingVariants,
    (
      SELECT count(*) FROM variants
      CROSS JOIN stock_levels ON stock_levels.variant_id = variants.variant_id
      WHERE variants.product_id = due_reads.product_id
        AND stock_levels.missing_at_ms IS NOT NULL AND stock_levels.gone_at_ms IS NULL
    ) AS missingLevels,
    due_reads.failed_at_ms AS failedAtMs,
    due_reads.last_error AS lastError,
    due_reads.attempts AS attempts,
    iif(due_reads.parked = 1, NULL, due_reads.retry_at_ms) AS retryAtMs
  FROM due_reads LEFT JOIN products ON products.product_id = due_reads.product_id`;

interface Row extends Omit<OpenRead, 'missing' | 'sinceMs'> {
  readonly firstMadeAtMs: number;
  readonly productMissingAtMs: number | null;
  readonly missingVariants: number;
  readonly missingLevels: number;
}

/** In the order of the ids, so that no page changes while reads are retried. */
export function openReads(db: Db, { kind, after, limit }: OpenReadsArgs): OpenReadPage {
  const found = prepared<object, Row>(
    db,
    `${OPEN_READS}
     WHERE ${CONDITIONS[kind]} AND due_reads.product_id > @after
     ORDER BY due_reads.product_id LIMIT @limit`,
  ).all({ after, limit: limit + 1 });
  const reads = found.slice(0, limit).map(openReadOf);
  return { reads, next: found.length > limit ? (reads.at(-1)?.productId ?? null) : null };
}

function openReadOf(row: Row): OpenRead {
  const { firstMadeAtMs, productMissingAtMs, missingVariants, missingLevels, ...read } = row;
  return {
    ...read,
    sinceMs: productMissingAtMs ?? firstMadeAtMs,
    missing: {
      product: productMissingAtMs !== null,
      variants: missingVariants,
      levels: missingLevels,
    },
  };
}
