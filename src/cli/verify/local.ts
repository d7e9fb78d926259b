/**
 * What the mirror's file says of itself, without the store: each stock level is where its changes lead, and each change
 * begins where the one before it ended.
 */
import type { Db } from '../../sqlite/open.ts';

export interface LocalVerdict {
  readonly levels: number;
  readonly changes: number;
  /** Of which no change is kept: they are older than RETENTION_DAYS. */
  readonly untold: number;
  readonly faults: readonly LocalFault[];
  /** What SQLite's own check found; empty: nothing. */
  readonly damage: readonly string[];
}

interface LocalFault {
  /** `level`: the row is not where its last change led. `chain`: a change does not begin where the one before ended. */
  readonly what: 'level' | 'chain';
  readonly variantId: string;
  readonly warehouseId: string;
  /** The change; null: the row itself. */
  readonly seq: number | null;
  readonly expected: number | null;
  readonly found: number | null;
}

interface ChangeRow {
  readonly seq: number;
  readonly variantId: string;
  readonly warehouseId: string;
  readonly oldQty: number | null;
  readonly newQty: number | null;
}

interface LevelRow {
  readonly variantId: string;
  readonly warehouseId: string;
  readonly qty: number;
}

const CHANGES = `
  SELECT seq, variant_id AS variantId, warehouse_id AS warehouseId, old_qty AS oldQty, new_qty AS newQty
  FROM mirror_changes WHERE warehouse_id IS NOT NULL ORDER BY seq`;
const LEVELS = `
  SELECT variant_id AS variantId, warehouse_id AS warehouseId, available_qty AS qty FROM mirror_stock`;

/** All of one instant, also beside a running mirror. */
export function verifyLocally(db: Db): LocalVerdict {
  return db.transaction(() => {
    const damage = db.pragma('quick_check(10)') as { readonly quick_check: string }[];
    const faults: LocalFault[] = [];
    const last = new Map<string, number | null>();
    let changes = 0;
    for (const { seq, variantId, warehouseId, oldQty, newQty } of db
      .prepare<[], ChangeRow>(CHANGES)
      .iterate()) {
      changes += 1;
      const key = `${variantId}/${warehouseId}`;
      const before = last.get(key);
      if (before !== undefined && before !== oldQty)
        faults.push({ what: 'chain', variantId, warehouseId, seq, expected: before, found: oldQty });
      last.set(key, newQty);
    }
    let levels = 0;
    let untold = 0;
    for (const { variantId, warehouseId, qty } of db.prepare<[], LevelRow>(LEVELS).iterate()) {
      levels += 1;
      const expected = last.get(`${variantId}/${warehouseId}`);
      if (expected === undefined) untold += 1;
      else if (expected !== qty)
        faults.push({ what: 'level', variantId, warehouseId, seq: null, expected, found: qty });
    }
    return {
      levels,
      changes,
      untold,
      faults,
      damage: damage.map(({ quick_check: found }) => found).filter((found) => found !== 'ok'),
    };
  })();
}
