import { expect, test } from 'vitest';
import * as queries from '../../../src/mirror/reader/queries.ts';
import { delivery, detail, DirectWriter, item, T0 } from '../mirror-file.ts';

const one = (id: string, qty = 1) => [{ id, levels: { 1: qty } }];

test('samples the status and file sizes', () => {
  const writer = new DirectWriter();
  const { db } = writer;
  for (const n of ['10', '11']) writer.read(n, detail(n, one(`${n}0`, 5)), T0);
  writer.deliver(delivery('a', item({ id: '110', old: 3, new: 2, update_time: T0 + 11_000 })), T0 + 11_000);
  writer.requestReads('not_stored', ['10', '11'], T0 + 20_000);
  const { status, ...sample } = queries.stateSample(db);
  expect(status).toEqual(queries.status(db));
  expect(status).toMatchObject({ open_gaps: 1, suspect_count: 2, pending_reads: 2 });

  expect(sample.databaseBytes % 4_096).toBe(0);
  expect(sample.databaseBytes).toBeGreaterThan(4_096);
  for (const bytes of [sample.walBytes, sample.diskFreeBytes]) expect(bytes).toBeGreaterThan(0);
});

const MINUTE = 60_000;

test('counts deliveries per time slot', () => {
  const writer = new DirectWriter();
  const counts = (fromMs: number, slots: number) =>
    queries.deliveryCounts(writer.db, { fromMs, slotMs: MINUTE, slots });
  expect(counts(T0, 3)).toEqual({ knownFromMs: null, counts: [0, 0, 0] });
  const start = Math.ceil(T0 / MINUTE) * MINUTE;
  const minutes = [0, 0.99, 2.01, 4, ...Array.from({ length: 100 }, (_, n) => 5 + n / 200), 7];
  for (const [n, minute] of minutes.entries()) {
    writer.deliver(delivery(`r${n}`, item({ id: String(n) })), start + minute * MINUTE);
  }
  expect(counts(start, 8)).toEqual({ knownFromMs: start, counts: [2, 0, 1, 0, 1, 100, 0, 1] });
  expect(counts(start + 2 * MINUTE, 3).counts).toEqual([1, 0, 1]);
  expect(counts(start - 2 * MINUTE, 4)).toEqual({ knownFromMs: start, counts: [0, 0, 2, 0] });
});

test('reports from when on deliveries are known', () => {
  const writer = new DirectWriter();
  const start = Math.ceil(T0 / MINUTE) * MINUTE;
  for (let i = 0; i < 10; i += 1) {
    writer.deliver(delivery(`r${i}`, item({ id: String(i) })), start + i * MINUTE);
  }
  writer.prune(start + 4 * MINUTE);
  const { knownFromMs, counts } = queries.deliveryCounts(writer.db, {
    fromMs: start,
    slotMs: MINUTE,
    slots: 10,
  });
  expect(knownFromMs).toBe(start + 4 * MINUTE);
  expect(counts).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
});
