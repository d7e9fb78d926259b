/** `suspect` (docs/reading-the-mirror.md#views). */
import { describe, expect, test } from 'vitest';
import { status } from '../../../src/mirror/queries/status.ts';
import { beats, delivery, detail, DirectWriter, item, rows, T0, values } from '../mirror-file.ts';
import { missedAt } from '../../core/builders.ts';

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

  test('while a read request marks it', () => {
    const writer = quiet();
    writer.requestReads('not_stored', ['10']);
    expect(suspects(writer)).toEqual(ALL);
    expect(status(writer.db).suspect_count).toBe(3);
  });

  test('while its product was not read since a downtime', () => {
    const writer = quiet();
    writer.append(missedAt(T0 + 1_000));
    expect(suspects(writer)).toEqual(ALL);
    expect(status(writer.db).suspect_count).toBe(3);
    writer.read('10', tea(5), T0 + 10_000);
    expect(suspects(writer)).toEqual([]);
  });

  test('after a read without warehouses moved its total, until a change sets it', () => {
    const pulled = (total: number) => detail('10', [{ id: '100', levels: null, total }]);
    const writer = new DirectWriter();
    writer.read('10', pulled(5), T0);
    writer.deliver(delivery('a', item({ old: 5, new: 4, update_time: T0 + 20_000 })), T0 + 20_000);
    writer.read('10', pulled(3), T0 + 60_000);
    expect(suspects(writer)).toEqual(['100/1']);
    // The variant is sold by its total.
    expect(status(writer.db)).toMatchObject({ sellable: { total: 1 }, suspect_count: 0 });
    writer.requestReads('not_stored', ['10'], T0 + 61_000);
    expect(suspects(writer)).toEqual(['100', '100/1']);
    expect(status(writer.db).suspect_count).toBe(1);
    writer.read('10', pulled(3), T0 + 90_000);
    expect(suspects(writer)).toEqual(['100/1']);
    writer.deliver(delivery('b', item({ old: 3, new: 2, update_time: T0 + 95_000 })), T0 + 95_000);
    writer.read('10', pulled(2), T0 + 120_000);
    expect(suspects(writer)).toEqual([]);
    expect(status(writer.db).suspect_count).toBe(0);
  });

  test('while the order of two changes of one instant is unknown and no read lists warehouses', () => {
    const pulled = (total: number) =>
      detail('10', [{ id: '100', levels: null, total, more: { pulled_from_product_variant_id: '9' } }]);
    const writer = new DirectWriter();
    writer.read('10', pulled(9), T0);
    const at = (ms: number) => ({ update_time: T0 + ms });
    const there = { old: 5, new: 6, ...at(20_000) };
    const back = { old: 6, new: 5, ...at(20_000) };
    const elsewhere = { warehouse_id: '2' };
    writer.deliver(delivery('a', item(there), item(back)), T0 + 20_000);
    // The other warehouse has the opposite error, so the total agrees.
    writer.deliver(
      delivery('b', item({ ...back, ...elsewhere }), item({ ...there, ...elsewhere })),
      T0 + 20_001,
    );
    writer.read('10', pulled(9), T0 + 60_000);
    expect(suspects(writer)).toEqual(['100/1', '100/2']);
    writer.deliver(delivery('c', item({ old: 5, new: 4, ...at(70_000) })), T0 + 70_000);
    writer.read('10', pulled(8), T0 + 90_000);
    expect(suspects(writer)).toEqual(['100/2']);
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

  test('while no read has shown its variant', () => {
    const writer = quiet();
    writer.deliver(delivery('a', item({ id: '999' })), T0);
    expect(suspects(writer)).toEqual(['999/1']);
    expect(status(writer.db).suspect_count).toBe(1);
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
