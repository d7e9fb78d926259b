/** The history of a variant, and pruning (docs/reading-the-mirror.md#following-changes). */
import { expect, test } from 'vitest';
import { SHARE_BITS } from '../../../src/mirror/file/schema.ts';
import { changesAfter, changesOf } from '../../../src/mirror/queries/changes.ts';
import { blockWith, documentAt } from '../../docs/blocks.ts';
import { delivery, DirectWriter, item, rows, T0, values, writerDb } from '../mirror-file.ts';

test('lists the history of one variant, newest first, across index shares', () => {
  const db = writerDb();
  const share = 2 ** SHARE_BITS;
  const insert = db.prepare(
    `INSERT INTO changes (seq, variant_id, source, recorded_at_ms) VALUES (?, ?, 'webhook', ${T0})`,
  );
  const own = [3, share - 1, share, share + 7, 4 * share];
  for (const seq of own) insert.run(seq, '100');
  for (const seq of [1, share + 1, 5 * share]) insert.run(seq, '101');
  const history = (beforeSeq: number, limit: number) =>
    changesOf(db, { variantId: '100', beforeSeq, limit }).map(({ seq }) => seq);
  expect(history(Number.MAX_SAFE_INTEGER, 9)).toEqual(own.toReversed());
  expect(history(share + 7, 2)).toEqual([share, share - 1]);
  expect(history(3, 2)).toEqual([]);
});

test('reports pruned changes also if a later change arrived earlier', () => {
  const writer = new DirectWriter();
  const at = [T0, T0 + 50, T0 + 20, T0 + 60, T0 + 70];
  for (const [n, atMs] of at.entries()) {
    const change = item({ old: 100 - n, new: 99 - n, update_time: T0 - 10_000 + n });
    writer.deliver(delivery(`r${n}`, change), atMs);
  }
  const kept = (): number[] => values(writer.db, 'SELECT inbox_seq FROM changes ORDER BY seq');
  const keptAfter = () => changesAfter(writer.db, { after: 0, limit: 1 }).keptAfterSeq;
  expect(keptAfter()).toBe(0);
  writer.prune(T0 + 30);
  expect(kept()).toEqual([2, 4, 5]);
  const [second = 0, fourth = 0] = values<number>(writer.db, 'SELECT seq FROM changes ORDER BY seq');
  expect(keptAfter()).toBeGreaterThan(second);
  expect(keptAfter()).toBeLessThan(fourth);
  const recipe = blockWith(documentAt('docs/reading-the-mirror.md'), 'sql', 'AS start_over').text;
  const [epoch] = values(writer.db, 'SELECT epoch FROM mirror_status');
  const startsOver = (last: number) => rows(writer.db, recipe, { epoch, last })[0]?.['start_over'];
  expect([second, keptAfter(), fourth].map(startsOver)).toEqual([1, 0, 0]);
  writer.prune(T0 + 1_000_000);
  expect(kept()).toEqual([]);
  expect(keptAfter()).toBe(values<number>(writer.db, 'SELECT last_seq FROM mirror_status')[0]);
});
