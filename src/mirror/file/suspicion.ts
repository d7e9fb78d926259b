/**
 * The only definition of a suspect row. The conditions name the tables of the views: `stock_levels`, its row of
 * `variants`, and the row of `products`, if it is known.
 */
import { EARLIEST_MS } from '../../core/limits.ts';
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
const NOT_READ = `coalesce(products.read_at_ms < ${TRUSTED_AFTER}, 1)`;
const UNREAD_PRODUCT = `products.gone_at_ms IS NULL AND products.read_at_ms < ${TRUSTED_AFTER}`;
const UNMAPPED = 'variants.product_id IS NULL';

/** A read of its product checks every row; a delivery checks its own level, not the total. */
const CHECKED_SINCE = '(SELECT checked_since_ms FROM service_state)';
const UNCHECKED_PRODUCT = `products.read_at_ms < ${CHECKED_SINCE}`;
const UNCHECKED_LEVEL = `(${UNCHECKED_PRODUCT} AND stock_levels.event_at_ms < ${CHECKED_SINCE})`;

/** The last read of its product did not show it. */
const MISSING_VARIANT = '(variants.missing_at_ms IS NOT NULL OR products.missing_at_ms IS NOT NULL)';
const MISSING_LEVEL = 'stock_levels.missing_at_ms IS NOT NULL';

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
  held: 'the store no longer shows it: it goes once that is confirmed, or, if too much is missing, once an operator decides',
  read_due:
    'something contradicts the quantity, or a component of the bundle has changed, and a read of its product is due',
  gap: 'a webhook before the last one is late or lost, or came so close to a read that either may be the newer',
} as const;
export type WhyNot = keyof typeof WHY_NOT;
export const WHY_NOT_CODES = Object.keys(WHY_NOT) as WhyNot[];

interface Ground {
  readonly why: WhyNot;
  /** SQL conditions; null: it concerns no such row. */
  readonly level: string | null;
  readonly total: string | null;
  /** It concerns all rows of a variant, or none. */
  readonly isOfVariant: boolean;
  /** The variants that it concerns. An index finds them, so that the cost grows with the doubts. */
  readonly variants: string;
}

/** Most general first: `why_not` shows the first that applies. */
const GROUNDS: readonly Ground[] = [
  {
    why: 'unknown_product',
    level: UNMAPPED,
    total: UNMAPPED,
    isOfVariant: true,
    variants: `
      FROM variants INDEXED BY variants_unmapped
      WHERE variants.product_id IS NULL AND variants.gone_at_ms IS NULL`,
  },
  {
    why: 'not_read',
    level: NOT_READ,
    total: NOT_READ,
    isOfVariant: true,
    // A product that only a list has named has no variants.
    variants: `
      FROM products
      CROSS JOIN variants ON variants.product_id = products.product_id
      WHERE ${UNREAD_PRODUCT} AND products.read_at_ms > ${EARLIEST_MS} AND variants.gone_at_ms IS NULL`,
  },
  {
    why: 'unchecked',
    level: UNCHECKED_LEVEL,
    total: UNCHECKED_PRODUCT,
    isOfVariant: false,
    variants: `
      FROM products
      CROSS JOIN variants ON variants.product_id = products.product_id
      WHERE products.gone_at_ms IS NULL AND ${UNCHECKED_PRODUCT} AND products.read_at_ms > ${EARLIEST_MS}
        AND variants.gone_at_ms IS NULL`,
  },
  {
    why: 'held',
    level: MISSING_VARIANT,
    total: MISSING_VARIANT,
    isOfVariant: true,
    variants: `
      FROM (
        SELECT variant_id FROM variants INDEXED BY variants_missing
        WHERE missing_at_ms IS NOT NULL AND gone_at_ms IS NULL
        UNION ALL
        SELECT variants.variant_id FROM products INDEXED BY products_missing
        CROSS JOIN variants ON variants.product_id = products.product_id
        WHERE products.missing_at_ms IS NOT NULL AND products.gone_at_ms IS NULL
      ) AS missing
      CROSS JOIN variants ON variants.variant_id = missing.variant_id
      WHERE variants.gone_at_ms IS NULL`,
  },
  {
    why: 'held',
    level: MISSING_LEVEL,
    total: null,
    isOfVariant: false,
    variants: `
      FROM (
        SELECT DISTINCT variant_id FROM stock_levels INDEXED BY stock_levels_missing
        WHERE missing_at_ms IS NOT NULL AND gone_at_ms IS NULL
      ) AS missing
      CROSS JOIN variants ON variants.variant_id = missing.variant_id
      LEFT JOIN products ON products.product_id = variants.product_id`,
  },
  {
    why: 'read_due',
    level: REQUESTED,
    total: REQUESTED,
    isOfVariant: true,
    variants: `
      FROM due_reads INDEXED BY due_reads_suspect
      CROSS JOIN variants ON variants.product_id = due_reads.product_id
      WHERE due_reads.is_suspect = 1 AND variants.gone_at_ms IS NULL`,
  },
  {
    why: 'read_due',
    level: null,
    total: BUNDLE_IS_DUE,
    isOfVariant: true,
    variants: `
      FROM mirror_state
      CROSS JOIN variants INDEXED BY variants_bundle
      WHERE mirror_state.bundles_due_at_ms IS NOT NULL
        AND variants.kind = 'bundle' AND variants.gone_at_ms IS NULL`,
  },
  {
    why: 'gap',
    level: LEVEL_HAS_GAP,
    total: VARIANT_HAS_GAP,
    isOfVariant: false,
    variants: `
      FROM (SELECT DISTINCT variant_id FROM gaps WHERE variant_id > '') AS open
      CROSS JOIN variants ON variants.variant_id = open.variant_id
      LEFT JOIN products ON products.product_id = variants.product_id`,
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
/** Grounds of a row of `mirror_stock`: also that no read shows it, because its variant is sold by its total. */
export const SUSPECT_STOCK = `(${SUSPECT_LEVEL} OR variants.sold_as_total = 1)`;

/** No row is trusted, whatever its own grounds. */
export const NONE_TRUSTED = `(SELECT ${STATE} = 'stale' OR service_state.state_cause IS 'unproven' FROM service_state)`;

const DISTRUSTED: Case = ['state', NONE_TRUSTED];

export const LEVEL_WHY_NOT = firstOf([DISTRUSTED, ...LEVEL_GROUNDS]);
export const TOTAL_WHY_NOT = firstOf([DISTRUSTED, ...TOTAL_GROUNDS]);
export const LEVEL_TRUSTED = `NOT ${anyOf([DISTRUSTED, ...LEVEL_GROUNDS])}`;
export const TOTAL_TRUSTED = `NOT ${anyOf([DISTRUSTED, ...TOTAL_GROUNDS])}`;

/** A list of untrusted rows has at most this many, so that a consumer can apply it in one transaction. */
export const MOST_LISTED = 1_000;

/** More are counted as "more": a number too large to check row by row is not worth its cost. */
export const MOST_COUNTED = 10_000;

const suspectRows = ({ isOfVariant, total }: Ground): string =>
  isOfVariant
    ? 'variants.sellable_rows'
    : `CASE
        WHEN variants.sold_as_total THEN ${total === null ? '0' : 'variants.sellable_rows'}
        ELSE (
          SELECT count(*) FROM stock_levels
          WHERE stock_levels.variant_id = variants.variant_id AND stock_levels.gone_at_ms IS NULL
            AND ${SUSPECT_LEVEL}
        )
      END`;

/**
 * Selects the variants with a ground, perhaps several times, and how many of their rows in `mirror_sellable` have
 * one. SQLite finds them one by one.
 */
export const SUSPECT_VARIANTS = GROUNDS.map(
  (ground) =>
    `SELECT variants.variant_id AS variant_id, ${suspectRows(ground)} AS suspect_rows ${ground.variants}`,
).join('\n  UNION ALL\n');

/** Selects the variants with levels that no read shows. None of these levels is sold. */
export const UNLISTED_VARIANTS = `
  SELECT variants.variant_id AS variant_id FROM variants INDEXED BY variants_unlisted
  WHERE sold_as_total = 1 AND live_levels > 0`;
