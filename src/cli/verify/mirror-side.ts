/** The mirror's file as `verify` reads it: read-only, beside a running mirror or without one. */
import type { Db } from '../../sqlite/open.ts';
import { levelKey, type Held, type MirrorProduct } from './figures.ts';

interface Row {
  readonly variantId: string;
  readonly qty: number;
  readonly changeSeq: number;
  readonly suspect: number;
  readonly asOfMs: number;
  readonly verifiedAtMs: number | null;
  readonly sku: string | null;
}

const COLUMNS = `variant_id AS variantId, available_qty AS qty, change_seq AS changeSeq, suspect, as_of AS asOfMs,
  verified_at AS verifiedAtMs, sku`;

export class MirrorSide {
  readonly #look: (productId: string) => MirrorProduct | null;
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
    const product = db
      .prepare<[string], number>('SELECT 1 FROM mirror_products WHERE product_id = ?')
      .pluck();
    const totals = db.prepare<[string], Row & { kind: string }>(
      `SELECT ${COLUMNS}, kind FROM mirror_variants WHERE product_id = ?`,
    );
    const levels = db.prepare<[string], Row & { warehouseId: string }>(
      `SELECT ${COLUMNS}, warehouse_id AS warehouseId FROM mirror_stock WHERE product_id = ?`,
    );
    const bundlesDue = db
      .prepare<[], number>('SELECT bundles_due_at_ms IS NOT NULL FROM mirror_state')
      .pluck();
    this.#look = db.transaction((productId: string): MirrorProduct | null => {
      if (product.get(productId) === undefined) return null;
      const isDue = bundlesDue.get() === 1;
      return {
        totals: new Map(
          totals
            .all(productId)
            .map((row) => [row.variantId, heldOf(row, { isSettling: isDue && row.kind === 'bundle' })]),
        ),
        levels: new Map(
          levels
            .all(productId)
            .map((row) => [levelKey(row.variantId, row.warehouseId), heldOf(row, { isSettling: false })]),
        ),
      };
    });
  }

  /** All figures of one product, as of one instant. */
  look(productId: string): MirrorProduct | null {
    return this.#look(productId);
  }

  productIds(): string[] {
    return this.#db.prepare<[], string>('SELECT product_id FROM mirror_products').pluck().all();
  }

  /** This many of them, drawn anew each time. */
  sample(count: number): string[] {
    return this.#db
      .prepare<[number], string>('SELECT product_id FROM mirror_products ORDER BY random() LIMIT ?')
      .pluck()
      .all(count);
  }

  /** The id of the mirrored store; null before the first read. */
  get storeId(): string | null {
    return this.#db.prepare<[], string | null>('SELECT store_id FROM mirror_state').pluck().get() ?? null;
  }
}

function heldOf(
  { qty, changeSeq, suspect, asOfMs, verifiedAtMs, sku }: Row,
  { isSettling }: { readonly isSettling: boolean },
): Held {
  return { qty, changeSeq, suspect: suspect === 1, asOfMs, verifiedAtMs, sku, isSettling };
}
