/** `suspect` and `state` (docs/reading-the-mirror.md#views). */
import { describe, expect, test } from 'vitest';
import { isIsolated } from '../../../src/core/runs.ts';
import { status } from '../../../src/mirror/queries/status.ts';
import { delivery, detail, DirectWriter, item, rows, T0, values } from '../mirror-file.ts';
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
    writer.requestReads('stale', ['10']);
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
    expect(status(writer.db).suspect_count).toBe(1);
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

  test('while no read has shown its variant', () => {
    const writer = quiet();
    writer.deliver(delivery('a', item({ id: '999' })), T0);
    expect(suspects(writer)).toEqual(['999/1']);
    expect(status(writer.db).suspect_count).toBe(1);
  });
});

describe('the mirror is', () => {
  function alive(writer: DirectWriter, agoMs = 0, clockMs = Date.now()): void {
    writer.db
      .prepare('UPDATE service_state SET alive_at_ms = ?, clock_ms = ?, last_full_sync_at_ms = 1')
      .run(Date.now() - agoMs, clockMs);
  }
  const state = (writer: DirectWriter) => status(writer.db).state;

  test('stale before the first heartbeat and after the last', () => {
    const writer = quiet();
    expect(state(writer)).toBe('stale');
    alive(writer, 11_000);
    expect(state(writer)).toBe('stale');
  });

  test('live with a heartbeat', () => {
    const writer = quiet();
    alive(writer);
    expect(state(writer)).toBe('live');
  });

  test('catching up until every product was read, also after downtime', () => {
    const writer = quiet();
    writer.db.prepare('UPDATE service_state SET alive_at_ms = ?').run(Date.now());
    expect(state(writer)).toBe('catching_up');
    alive(writer);
    writer.append(missedAt(T0 + 1_000));
    expect(state(writer)).toBe('catching_up');
    writer.read('10', tea(5), T0 + 10_000);
    expect(state(writer)).toBe('live');
  });

  test('stale when a suspect read request has waited for a quarter of an hour', () => {
    const writer = quiet();
    alive(writer);
    const longAgo = Date.now() - 16 * 60_000;
    writer.requestReads('stale', ['10'], longAgo);
    expect(state(writer)).toBe('live');
    writer.requestReads('not_stored', ['10'], longAgo);
    expect(state(writer)).toBe('stale');
  });

  test.each([-3_600_000, 3_600_000])(
    'stale after a quarter of an hour by its own clock, which is %i ms ahead of the host',
    (aheadMs) => {
      const writer = quiet();
      const atMs = Date.now() + aheadMs;
      writer.requestReads('not_stored', ['10'], atMs);
      alive(writer, 0, atMs + 15 * 60_000);
      expect(state(writer)).toBe('live');
      alive(writer, 0, atMs + 15 * 60_000 + 1);
      expect(state(writer)).toBe('stale');
    },
  );
});

describe('a refused read', () => {
  function kept(products: number): DirectWriter {
    const writer = new DirectWriter();
    for (let n = 0; n < products; n += 1) {
      writer.read(String(n), detail(String(n), [{ id: `1${n}`, levels: { 1: 5 } }]), T0);
    }
    writer.db
      .prepare(
        'UPDATE service_state SET alive_at_ms = ?, clock_ms = unixepoch() * 1000, last_full_sync_at_ms = 1',
      )
      .run(Date.now());
    return writer;
  }
  const state = (writer: DirectWriter) => status(writer.db).state;
  const downtime = missedAt(T0 + 1_000);

  test('leaves only its rows suspect and the mirror live', () => {
    const writer = kept(2);
    writer.append(downtime);
    writer.giveUp('0');
    expect(state(writer)).toBe('catching_up');
    writer.read('1', detail('1', [{ id: '11', levels: { 1: 5 } }]), T0 + 10_000);
    expect(state(writer)).toBe('live');
    expect(status(writer.db)).toMatchObject({ parked_reads: 1, pending_reads: 1, suspect_count: 1 });
    expect(suspects(writer)).toEqual(['10', '10/1']);
    writer.command('retryFailures', undefined);
    expect(state(writer)).toBe('live');
  });

  test('makes the mirror stale beyond one product and 5 %', () => {
    const writer = kept(40);
    for (const id of ['0', '1']) writer.giveUp(id);
    expect(state(writer)).toBe('live');
    writer.giveUp('2');
    expect(state(writer)).toBe('stale');
  });

  test('makes the mirror stale if it is the only product', () => {
    const writer = kept(1);
    writer.giveUp('0');
    expect(state(writer)).toBe('stale');
    writer.read('1', detail('1', [{ id: '11', levels: { 1: 5 } }]), T0 + 10_000);
    expect(state(writer)).toBe('live');
  });

  test.each([0, 1, 2, 3, 19, 20, 39, 40, 41, 60])('of %i products is judged as by a run', (products) => {
    const writer = kept(products);
    for (let givenUp = 0; givenUp <= Math.min(products, 5); givenUp += 1) {
      expect([givenUp, state(writer)]).toEqual([givenUp, isIsolated(givenUp, products) ? 'live' : 'stale']);
      writer.giveUp(String(givenUp));
    }
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
