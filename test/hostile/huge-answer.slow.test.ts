/** The largest allowed answer must not overflow the stack. */
import { expect, test } from 'vitest';
import { detail, DirectWriter, T0, values } from '../mirror/mirror-file.ts';

/** About as many as 4 MB hold. */
const MAX_VARIANTS = 6_000;
const MAX_LEVELS = 48_000;

test('merges the largest detail, and its 404', () => {
  const writer = new DirectWriter();
  const warehouses = Array.from({ length: MAX_LEVELS / MAX_VARIANTS }, (_, n) => [String(n + 1), 5]);
  const variants = Array.from({ length: MAX_VARIANTS }, (_, n) => ({
    id: String(n + 1),
    levels: Object.fromEntries(warehouses) as Record<string, number>,
  }));
  writer.read('10', detail('10', variants), T0);
  expect(values(writer.db, 'SELECT count(*) FROM mirror_stock')).toEqual([MAX_LEVELS]);
  writer.read('10', null, T0 + 60_000);
  expect(values(writer.db, 'SELECT count(*) FROM products WHERE missing_at_ms IS NOT NULL')).toEqual([1]);
});
