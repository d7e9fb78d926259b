/** A proven loss: what else the lost delivery carried is unknown, so all that moves is read after it (DESIGN §8, canary). */
import { CANARY_PRODUCTS, REPLICA_LAG_MS } from '../../../src/core/limits.ts';
import type { Gap } from '../../../src/core/model.ts';
import { prepared } from '../../../src/store/prepared.ts';
import type { Db } from '../../../src/store/open.ts';

/** @param db as it stands once the loss was proven. */
export function checkLoss(db: Db, gap: Gap, fault: (what: string) => void): void {
  const live = prepared<[], number>(db, 'SELECT count(*) FROM products WHERE gone_at_ms IS NULL').pluck();
  // Of more than that, those that moved last.
  if ((live.get() ?? 0) > CANARY_PRODUCTS) return;
  const forgotten = prepared<[number, number, number], string>(
    db,
    `SELECT product_id FROM products p WHERE gone_at_ms IS NULL AND NOT (read_seq >= ? AND read_at_ms >= ?)
       AND NOT EXISTS (SELECT 1 FROM obligations o WHERE o.product_id = p.product_id AND o.made_seq >= ?)`,
  )
    .pluck()
    .all(gap.openedSeq, gap.openedAtMs + REPLICA_LAG_MS, gap.openedSeq);
  for (const productId of forgotten) {
    fault(`a loss was proven after ${gap.openedSeq} of the log, and product ${productId} is not read for it`);
  }
}
