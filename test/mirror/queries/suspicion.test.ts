/** `suspect` (docs/reading-the-mirror.md#views), as far as `why_not` of `mirror_sellable` does not show it. */
import { describe, expect, test } from 'vitest';
import { status } from '../../../src/mirror/queries/status.ts';
import { beats, delivery, detail, DirectWriter, item, rows, T0, values } from '../mirror-file.ts';

const tea = (qty: number) =>
  detail('10', [
    { id: '100', levels: { 1: qty, 2: 7 } },
    { id: '101', levels: { 1: 1 } },
  ]);

function quiet(): DirectWriter {
  const writer = new DirectWriter();
  writer.read('10', tea(5), T0);
  return writer;
}

const suspects = (writer: DirectWriter): string[] =>
  values(
    writer.db,
    `SELECT variant_id || '/' || warehouse_id FROM mirror_stock WHERE suspect = 1
     UNION ALL SELECT variant_id FROM mirror_variants WHERE suspect = 1 ORDER BY 1`,
  );
const ALL = ['100', '100/1', '100/2', '101', '101/1'];

describe('a row is suspect', () => {
  test('never without a reason', () => {
    expect(suspects(quiet())).toEqual([]);
    const writer = quiet();
    writer.requestReads('listed', ['10']);
    expect(suspects(writer)).toEqual([]);
    expect(status(writer.db).suspect_count).toBe(0);
  });

  test('while its chain has a gap, with its variant’s total', () => {
    const writer = quiet();
    writer.deliver(delivery('a', item({ old: 4, new: 3, update_time: T0 + 20_000 })), T0 + 20_000);
    expect(suspects(writer)).toEqual(['100', '100/1']);
    expect(status(writer.db)).toMatchObject({ suspect_count: 1, open_gaps: 1 });
    writer.read('10', tea(3), T0 + 60_000);
    expect(suspects(writer)).toEqual([]);
  });

  test('while no read shows it, because its variant is sold by its total', () => {
    const pulled = (total: number) => detail('10', [{ id: '100', levels: null, total }]);
    const writer = new DirectWriter();
    writer.read('10', pulled(5), T0);
    writer.deliver(delivery('a', item({ old: 5, new: 4, update_time: T0 + 20_000 })), T0 + 20_000);
    writer.read('10', pulled(4), T0 + 60_000);
    expect(suspects(writer)).toEqual(['100/1']);
    expect(status(writer.db)).toMatchObject({ sellable: { total: 1 }, suspect_count: 0 });
    writer.requestReads('not_stored', ['10'], T0 + 61_000);
    expect(suspects(writer)).toEqual(['100', '100/1']);
    expect(status(writer.db).suspect_count).toBe(1);
  });

  test('while nothing has checked it for too long: a read its rows, a webhook its level', () => {
    const writer = quiet();
    const checkedSince = (checkedSinceMs: number) => {
      beats(writer.db, Date.now(), { checkedSinceMs });
      return { suspects: suspects(writer), count: status(writer.db).suspect_count };
    };
    expect(checkedSince(T0)).toEqual({ suspects: [], count: 0 });
    expect(checkedSince(T0 + 1)).toEqual({ suspects: ALL, count: 3 });
    writer.deliver(delivery('a', item({ old: 5, new: 4, update_time: T0 + 20_000 })), T0 + 20_000);
    expect(checkedSince(T0 + 20_000)).toEqual({ suspects: ['100', '100/2', '101', '101/1'], count: 2 });
    writer.requestReads('not_stored', ['10'], T0 + 20_000);
    expect(checkedSince(T0 + 20_001)).toEqual({ suspects: ALL, count: 3 });
    writer.read('10', tea(4), T0 + 40_000);
    expect(checkedSince(T0 + 40_000)).toEqual({ suspects: [], count: 0 });
  });
});

test('reports every value of the status', () => {
  const writer = quiet();
  writer.deliver(delivery('a', item({ old: 5, new: 3 }), item({ id: 5 })), T0 + 20_000);
  expect(status(writer.db)).toMatchObject({
    epoch: expect.stringMatching(/^[0-9a-f]{16}$/),
    last_delivery_at: T0 + 20_000,
    oldest_verified_at: T0,
    products: 1,
    variants: 3,
    levels: 3,
    parked_reads: 0,
    held_removals: 0,
    dead_letters: 1,
    last_seq: Number(rows(writer.db, 'SELECT max(change_seq) AS n FROM mirror_variants')[0]?.['n']),
  });
});
