/** Whether a mirror's file has for every level what the simulated store itself would answer. */
import Database from 'better-sqlite3';
import { available, sellable } from '../../src/sandbox/world/model.ts';
import type { Truth } from '../../src/sandbox/world/truth.ts';

interface Level {
  readonly id: string;
  readonly qty: number;
}

/** What a mirror can know: of its deliveries alone, or of reads too, which bundles need. */
export type Known = 'told' | 'read';

/** @returns how many levels differ: totals of variants, and levels of those whose warehouses the store shows. */
export function differences(path: string, truth: Truth, known: Known): number {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const totals = levels(db, 'SELECT variant_id AS id, available_qty AS qty FROM mirror_variants');
    const stock = levels(
      db,
      "SELECT variant_id || '/' || warehouse_id AS id, available_qty AS qty FROM mirror_stock",
    );
    let different = 0;
    for (const variant of truth.variants) {
      if (known === 'told' && variant.kind === 'bundle') continue;
      if (totals.get(variant.id) !== sellable(variant)) different += 1;
      if (variant.kind === 'pulled' || variant.kind === 'bundle') continue;
      for (const level of variant.levels) {
        if (stock.get(`${variant.id}/${level.warehouseId}`) !== available(level)) different += 1;
      }
    }
    return different;
  } finally {
    db.close();
  }
}

function levels(db: Database.Database, sql: string): ReadonlyMap<string, number> {
  return new Map(
    db
      .prepare<[], Level>(sql)
      .all()
      .map(({ id, qty }) => [id, qty]),
  );
}
