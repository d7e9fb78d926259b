/** Open work of a mirror: it is not at rest before it is done. */
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';

const CHORE_SOON = 'bundles_due_at_ms IS NOT NULL';

/**
 * @param isAwaited whether the search for the variant must have ended, and its gaps, whose product only the
 * search finds.
 */
export function isSettled(db: Db, isAwaited: (variantId: string) => boolean): boolean {
  const pending = prepared<[], number>(
    db,
    `SELECT EXISTS (SELECT 1 FROM due_reads WHERE held = 0)
       OR EXISTS (SELECT 1 FROM gaps LEFT JOIN variants USING (variant_id) WHERE lookup_at_ms IS NULL)
       OR EXISTS (SELECT 1 FROM runs WHERE state = 'running')
       OR EXISTS (SELECT 1 FROM mirror_state WHERE ${CHORE_SOON})`,
  ).pluck();
  return pending.get() === 0 && !searchedVariants(db).some(isAwaited);
}

export function searchedVariants(db: Db): string[] {
  return prepared<[], string>(db, 'SELECT variant_id FROM variants WHERE lookup_at_ms IS NOT NULL')
    .pluck()
    .all();
}

/** @param isAwaited as in `isSettled`. */
export function openWork(db: Db, isAwaited: (variantId: string) => boolean = () => true): string | null {
  const texts = (sql: string): string[] => prepared<[], string>(db, sql).pluck().all();
  const open = {
    readRequests: texts(`SELECT product_id || ' ' || reason FROM due_reads WHERE is_suspect = 1`),
    gaps: texts(`SELECT variant_id || '/' || warehouse_id FROM gaps`),
    lookups: searchedVariants(db).filter(isAwaited),
    runs: texts(`SELECT id || ' ' || kind FROM runs WHERE state = 'running' AND kind <> 'scheduled'`),
    chores: texts(`SELECT 'due' FROM mirror_state WHERE ${CHORE_SOON}`),
    suspects: texts(
      `SELECT variant_id || '/' || warehouse_id FROM mirror_stock
       WHERE suspect = 1 AND product_id IS NOT NULL AND sellable = 1`,
    ),
  };
  const left = Object.entries(open).filter(([, found]) => found.length > 0);
  if (left.length === 0) return null;
  return left.map(([what, found]) => `open ${what}: ${found.slice(0, 3).join(', ')}`).join('; ');
}
