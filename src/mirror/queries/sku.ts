/** All that the mirror holds of one SKU, and why a figure of it is suspect. */
import type { Db } from '../../sqlite/open.ts';
import { AGAINST_LEVEL, AGAINST_TOTAL } from '../file/suspicion.ts';
import { position, type Position } from './changes.ts';
import type { StockRow, VariantRow } from './stock.ts';

export type AgainstLevel = keyof typeof AGAINST_LEVEL;
export type AgainstTotal = keyof typeof AGAINST_TOTAL;

/** A row of a view, with what speaks against it: nothing unless it is suspect. */
type Weighed<Row, Against> = Row & { readonly suspect_because: Against[] };

export interface StockOfSku extends Position {
  /** Several variants may share one SKU. */
  readonly variants: readonly Weighed<VariantRow, AgainstTotal>[];
  readonly levels: readonly Weighed<StockRow, AgainstLevel>[];
  /** Why the product of a variant is to be read again, where that makes it suspect: by the product's id. */
  readonly requests: ReadonlyMap<string, string>;
  /** When variants of this SKU were last removed; null: none was. */
  readonly removedAtMs: number | null;
}

/** @returns all as of one moment. */
export function stockOfSku(db: Db, { sku }: { readonly sku: string }): StockOfSku {
  return db.transaction(() => {
    const requests = db
      .prepare<[string], { readonly productId: string; readonly reason: string }>(
        `SELECT DISTINCT o.product_id AS productId, o.reason AS reason
         FROM variants v JOIN read_requests o ON o.product_id = v.product_id AND o.is_suspect = 1 WHERE v.sku = ?`,
      )
      .all(sku);
    return {
      epoch: position(db).epoch,
      lastSeq: position(db).lastSeq,
      variants: weighed<VariantRow, AgainstTotal>(db, { ...TOTALS, sku }),
      levels: weighed<StockRow, AgainstLevel>(db, { ...LEVELS, sku }),
      requests: new Map(requests.map(({ productId, reason }) => [productId, reason])),
      removedAtMs:
        db
          .prepare<[string], number | null>('SELECT max(gone_at_ms) FROM variants WHERE sku = ?')
          .pluck()
          .get(sku) ?? null,
    };
  })();
}

const TOTALS = {
  rows: `SELECT s.*, %against FROM mirror_variants s JOIN variants v ON v.variant_id = s.variant_id
    LEFT JOIN products p ON p.product_id = v.product_id
    WHERE s.sku = ? ORDER BY s.variant_id`,
  against: AGAINST_TOTAL,
} as const;

const LEVELS = {
  rows: `SELECT s.*, %against FROM mirror_stock s JOIN variants v ON v.variant_id = s.variant_id
    JOIN stock_levels c ON c.variant_id = s.variant_id AND c.warehouse_id = s.warehouse_id
    LEFT JOIN products p ON p.product_id = v.product_id
    WHERE s.sku = ? ORDER BY s.variant_id, s.warehouse_id`,
  against: AGAINST_LEVEL,
} as const;

const MARK = 'against_';

function weighed<Row, Against extends string>(
  db: Db,
  {
    rows,
    against,
    sku,
  }: { readonly rows: string; readonly against: Readonly<Record<Against, string>>; readonly sku: string },
): Weighed<Row, Against>[] {
  const names = Object.keys(against) as Against[];
  const columns = names.map((name) => `${against[name]} AS ${MARK}${name}`).join(', ');
  const found = db.prepare<[string], Record<string, unknown>>(rows.replace('%against', columns)).all(sku);
  return found.map((each) => {
    const row = Object.fromEntries(Object.entries(each).filter(([name]) => !name.startsWith(MARK)));
    // The row as the view has it: what was added to it is taken away again.
    return { ...(row as Row), suspect_because: names.filter((name) => each[`${MARK}${name}`] === 1) };
  });
}
