/** An answer as large as any may be: what is read of it must not depend on how much fits on the stack. */
import { expect, test } from 'vitest';
import { detail, DirectWriter, T0, values } from '../store/mirror-file.ts';

test('a detail of 130,000 variants is merged, and its absence too', () => {
  const writer = new DirectWriter();
  const variants = Array.from({ length: 130_000 }, (_, n) => ({ id: String(n + 1), levels: null, total: n }));
  writer.read('10', detail('10', variants), T0);
  expect(values(writer.db, 'SELECT count(*) FROM mirror_variants')).toEqual([130_000]);
  writer.read('10', null, T0 + 60_000);
  expect(values(writer.db, 'SELECT count(*) FROM products WHERE missing_at_ms IS NOT NULL')).toEqual([1]);
}, 90_000);
