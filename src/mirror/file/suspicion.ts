/**
 * The only definition of a suspect row. The conditions name the tables of the views: `stock_levels`, its row of
 * `variants`, and the row of `products`, if it is known.
 */
import { EARLIEST_MS } from '../../core/limits.ts';
import type { Db } from '../../sqlite/open.ts';
import { column } from '../../sqlite/prepared.ts';
import { STATE } from './state.ts';

const TRUSTED_AFTER = '(SELECT trusted_after_ms FROM mirror_state)';

const REQUESTED = `EXISTS (
      SELECT 1 FROM due_reads WHERE due_reads.product_id = variants.product_id AND due_reads.is_suspect = 1
    )`;
const LEVEL_HAS_GAP = `EXISTS (
      SELECT 1 FROM gaps
      WHERE gaps.variant_id = stock_levels.variant_id AND gaps.warehouse_id = stock_levels.warehouse_id
    )`;
const VARIANT_HAS_GAP = 'EXISTS (SELECT 1 FROM gaps WHERE gaps.variant_id = variants.variant_id)';
const UNEXPLAINED = 'stock_levels.unexplained_at_ms IS NOT NULL';
const NOT_READ = `coalesce(products.read_at_ms < ${TRUSTED_AFTER}, 1)`;
const UNREAD_PRODUCT = `products.gone_at_ms IS NULL AND products.read_at_ms < ${TRUSTED_AFTER}`;
const UNMAPPED = 'variants.product_id IS NULL';

/** A read of its product checks every row; a delivery checks its own level, not the total. */
const CHECKED_SINCE = '(SELECT checked_since_ms FROM service_state)';
const UNCHECKED_PRODUCT = `products.read_at_ms < ${CHECKED_SINCE}`;
const UNCHECKED_LEVEL = `(${UNCHECKED_PRODUCT} AND stock_levels.event_at_ms < ${CHECKED_SINCE})`;

/** A component changed, and no webhook says which bundles contain it. */
const BUNDLE_IS_DUE = `variants.kind = 'bundle' AND (SELECT bundles_due_at_ms FROM mirror_state) IS NOT NULL`;

/**
 * Codes of `mirror_sellable.why_not` with their meanings, for the page; `npm run generate` writes them into
 * docs/reading-the-mirror.md#reasons-against-trust.
 */
export const WHY_NOT = {
  state: 'the state of the mirror is `stale`, or its cause is `unproven`',
  unknown_product: 'a webhook named the variant, and no read has shown it yet',
  not_read:
    'its product was not read since the first start, a new epoch, or a time in which webhooks may have been missed',
  unchecked: 'no read or webhook has confirmed it for longer than `VERIFY_WITHIN_HOURS` and a tenth',
  read_due:
    'something contradicts the quantity, or a component of the bundle has changed, and a read of its product is due',
  gap: 'a webhook before the last one is late or lost',
  unexplained: 'a read moved the total of the variant, and the warehouse is unknown',
} as const;
export type WhyNot = keyof typeof WHY_NOT;

interface Ground {
  readonly why: WhyNot;
  /** SQL conditions; null: it concerns no such row. */
  readonly level: string | null;
  readonly total: string | null;
  /** Selects the variants that it concerns. An index finds them, so that the cost grows with the doubts. */
  readonly variants: string;
}

/** Most general first: `why_not` shows the first that applies. */
const GROUNDS: readonly Ground[] = [
  {
    why: 'unknown_product',
    level: UNMAPPED,
    total: UNMAPPED,
    variants: `
      SELECT variant_id FROM variants INDEXED BY variants_unmapped
      WHERE product_id IS NULL AND gone_at_ms IS NULL`,
  },
  {
    why: 'not_read',
    level: NOT_READ,
    total: NOT_READ,
    // A product that only a list has named has no variants.
    variants: `
      SELECT variants.variant_id FROM products
      CROSS JOIN variants ON variants.product_id = products.product_id
      WHERE ${UNREAD_PRODUCT} AND products.read_at_ms > ${EARLIEST_MS} AND variants.gone_at_ms IS NULL`,
  },
  {
    why: 'unchecked',
    level: UNCHECKED_LEVEL,
    total: UNCHECKED_PRODUCT,
    variants: `
      SELECT variants.variant_id FROM products
      CROSS JOIN variants ON variants.product_id = products.product_id
      WHERE products.gone_at_ms IS NULL AND ${UNCHECKED_PRODUCT} AND products.read_at_ms > ${EARLIEST_MS}
        AND variants.gone_at_ms IS NULL`,
  },
  {
    why: 'read_due',
    level: REQUESTED,
    total: REQUESTED,
    variants: `
      SELECT variants.variant_id FROM due_reads INDEXED BY due_reads_suspect
      CROSS JOIN variants ON variants.product_id = due_reads.product_id
      WHERE due_reads.is_suspect = 1 AND variants.gone_at_ms IS NULL`,
  },
  {
    why: 'read_due',
    level: null,
    total: BUNDLE_IS_DUE,
    variants: `
      SELECT variants.variant_id FROM mirror_state
      CROSS JOIN variants INDEXED BY variants_bundle
      WHERE mirror_state.bundles_due_at_ms IS NOT NULL
        AND variants.kind = 'bundle' AND variants.gone_at_ms IS NULL`,
  },
  {
    why: 'gap',
    level: LEVEL_HAS_GAP,
    total: VARIANT_HAS_GAP,
    variants: `SELECT variant_id FROM gaps WHERE variant_id > ''`,
  },
  {
    why: 'unexplained',
    level: UNEXPLAINED,
    total: null,
    variants: `
      SELECT stock_levels.variant_id FROM stock_levels
      WHERE ${UNEXPLAINED} AND stock_levels.gone_at_ms IS NULL`,
  },
];

type Case = readonly [why: WhyNot, condition: string];

const casesOf = (row: 'level' | 'total'): readonly Case[] =>
  GROUNDS.flatMap((ground): Case[] => {
    const condition = ground[row];
    return condition === null ? [] : [[ground.why, condition]];
  });

const LEVEL_GROUNDS = casesOf('level');
const TOTAL_GROUNDS = casesOf('total');

const anyOf = (cases: readonly Case[]): string =>
  `(\n    ${cases.map(([, condition]) => condition).join('\n    OR ')}\n  )`;

const firstOf = (cases: readonly Case[]): string =>
  `CASE\n    ${cases.map(([why, condition]) => `WHEN ${condition} THEN '${why}'`).join('\n    ')}\n  END`;

export const SUSPECT_LEVEL = anyOf(LEVEL_GROUNDS);
export const SUSPECT_TOTAL = anyOf(TOTAL_GROUNDS);

const DISTRUSTED: Case = [
  'state',
  `(SELECT ${STATE} = 'stale' OR service_state.state_cause IS 'unproven' FROM service_state)`,
];

/** @returns whether no row is trusted, whatever its own grounds. */
export function isDistrusted(db: Db): boolean {
  return column<[], number>(db, `SELECT ${DISTRUSTED[1]}`).get() === 1;
}

export const LEVEL_WHY_NOT = firstOf([DISTRUSTED, ...LEVEL_GROUNDS]);
export const TOTAL_WHY_NOT = firstOf([DISTRUSTED, ...TOTAL_GROUNDS]);
export const LEVEL_TRUSTED = `NOT ${anyOf([DISTRUSTED, ...LEVEL_GROUNDS])}`;
export const TOTAL_TRUSTED = `NOT ${anyOf([DISTRUSTED, ...TOTAL_GROUNDS])}`;

const isRead = (row: string): string =>
  `NOT EXISTS (SELECT 1 FROM products WHERE products.product_id = ${row}.product_id AND ${UNREAD_PRODUCT})`;
const VARIANT_IS_READ = isRead('variants');

/** Look up few unread products one by one; scan in id order when there are many, as after a downtime. */
const FEW_UNREAD = 5_000;

const levelsOfUnread = (from: string): string => `(
    SELECT coalesce(sum(product_stock_levels.levels), 0)
    FROM ${from} ON product_stock_levels.product_id = products.product_id
    WHERE ${UNREAD_PRODUCT}
  )`;

/** Each level counts with its first ground, starting from the grounds, never from the stock (CROSS JOIN). */
export const SUSPECT_COUNT = `CASE
    WHEN (
      SELECT count(*) FROM (SELECT 1 FROM products WHERE ${UNREAD_PRODUCT} LIMIT ${FEW_UNREAD + 1})
    ) <= ${FEW_UNREAD}
    THEN ${levelsOfUnread('products CROSS JOIN product_stock_levels')}
    ELSE ${levelsOfUnread('product_stock_levels CROSS JOIN products')}
  END + (
    SELECT coalesce(sum(product_stock_levels.levels), 0) FROM due_reads
    CROSS JOIN product_stock_levels ON product_stock_levels.product_id = due_reads.product_id
    WHERE due_reads.is_suspect = 1 AND ${isRead('due_reads')}
  ) + (
    SELECT count(DISTINCT gaps.variant_id || '/' || gaps.warehouse_id) FROM gaps
    CROSS JOIN variants ON variants.variant_id = gaps.variant_id
    WHERE variants.product_id IS NOT NULL AND NOT ${REQUESTED} AND ${VARIANT_IS_READ}
  ) + (
    SELECT count(*) FROM stock_levels CROSS JOIN variants ON variants.variant_id = stock_levels.variant_id
    WHERE ${UNEXPLAINED} AND stock_levels.gone_at_ms IS NULL AND variants.product_id IS NOT NULL
      AND NOT ${REQUESTED} AND ${VARIANT_IS_READ} AND NOT ${LEVEL_HAS_GAP}
  ) + (
    SELECT count(*) FROM products
    CROSS JOIN variants ON variants.product_id = products.product_id
    CROSS JOIN stock_levels ON stock_levels.variant_id = variants.variant_id
    WHERE products.gone_at_ms IS NULL AND products.read_at_ms >= ${TRUSTED_AFTER} AND ${UNCHECKED_LEVEL}
      AND stock_levels.gone_at_ms IS NULL AND NOT ${REQUESTED} AND NOT ${LEVEL_HAS_GAP} AND NOT ${UNEXPLAINED}
  ) + (
    SELECT count(*) FROM variants CROSS JOIN stock_levels ON stock_levels.variant_id = variants.variant_id
    WHERE ${UNMAPPED} AND stock_levels.gone_at_ms IS NULL
  )`;

/** A list of untrusted rows has at most this many, so that a consumer can apply it in one transaction. */
export const MOST_LISTED = 1_000;

const DOUBTFUL = GROUNDS.map(({ variants }) => variants).join('\n  UNION ALL\n');

/** @returns every variant that may have a suspect row, once, found one by one. */
export function* doubtfulVariants(db: Db): Iterable<string> {
  const seen = new Set<string>();
  for (const variantId of column<[], string>(db, DOUBTFUL).iterate()) {
    if (seen.has(variantId)) continue;
    seen.add(variantId);
    yield variantId;
  }
}

/** With more of them, a scan of the mirror finds some soon. */
const FEW = 2_000;

/** @returns the doubtful variants in SQLite's order of ids; null if there are too many. */
export function fewDoubtful(db: Db): readonly string[] | null {
  const found: string[] = [];
  for (const variantId of doubtfulVariants(db)) {
    if (found.length === FEW) return null;
    found.push(variantId);
  }
  return found.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}
