/** The questions behind metrics and alarms. */
import { expect, test } from 'vitest';
import type { RunKind } from '../../../src/core/runs.ts';
import { queries } from '../../../src/mirror/reader/queries.ts';
import { delivery, detail, DirectWriter, item, T0 } from '../mirror-file.ts';

const one = (id: string, qty = 1) => [{ id, levels: { 1: qty } }];

test('a sample is the status, and what the files say of their size', () => {
  const writer = new DirectWriter();
  const { db } = writer;
  expect(queries.stateSample(db)).toMatchObject({ logEntries: 0, oldestSuspectAtMs: null });
  for (const n of ['10', '11']) writer.read(n, detail(n, one(`${n}0`, 5)), T0);
  writer.deliver(delivery('a', item({ id: '110', old: 3, new: 2, update_time: T0 + 11_000 })), T0 + 11_000);
  const request = { kind: 'oblige', reason: 'not_stored', variantIds: [] } as const;
  writer.append({ ...request, atMs: T0 + 20_000, productIds: ['10'] });
  writer.append({ ...request, atMs: T0 + 30_000, productIds: ['11'] });
  const { status, ...sample } = queries.stateSample(db);
  expect(status).toEqual(queries.status(db));
  expect(status).toMatchObject({ open_gaps: 1, suspect_count: 2, pending_reads: 2 });
  expect(sample).toMatchObject({ logEntries: 5, oldestSuspectAtMs: T0 + 20_000 });
  expect(sample.databaseBytes % 4_096).toBe(0);
  expect(sample.databaseBytes).toBeGreaterThan(4_096);
  for (const bytes of [sample.walBytes, sample.diskFreeBytes]) expect(bytes).toBeGreaterThan(0);
});

test('runs by how they ended, from the oldest one under way on', () => {
  const writer = new DirectWriter();
  const { db } = writer;
  const begin = (run: RunKind): number => writer.beginRun({ run });
  expect(queries.runOutcomesStart(db)).toBe(0);
  const [first, second, third] = [begin('initial'), begin('operator'), begin('scheduled')];
  writer.endRun(first);
  writer.endRun(third, { error: 'x' });
  expect(queries.runOutcomesStart(db)).toBe(first);
  expect(queries.runOutcomes(db, { afterId: first })).toEqual([
    { id: second, kind: 'operator', state: 'running' },
    { id: third, kind: 'scheduled', state: 'failed' },
  ]);
  writer.endRun(second);
  expect(queries.runOutcomesStart(db)).toBe(third);
});

const MINUTE = 60_000;

test('deliveries by stretches of time, told from the reads between them', () => {
  const writer = new DirectWriter();
  const counts = (fromMs: number, slots: number) =>
    queries.deliveryCounts(writer.db, { fromMs, slotMs: MINUTE, slots });
  expect(counts(T0, 3)).toEqual({ knownFromMs: null, counts: [0, 0, 0] });
  const start = Math.ceil(T0 / MINUTE) * MINUTE;
  let n = 0;
  const deliver = (atMs: number) => writer.deliver(delivery(`r${(n += 1)}`, item({ id: String(n) })), atMs);
  deliver(start);
  deliver(start + MINUTE - 1);
  writer.append({ kind: 'due', atMs: start + 2 * MINUTE, what: 'bundles' });
  deliver(start + 2 * MINUTE + 1);
  writer.deliver(new TextEncoder().encode('no JSON, but authentic'), start + 4 * MINUTE);
  for (let i = 0; i < 100; i += 1) {
    deliver(start + 5 * MINUTE + i * 10);
    writer.append({ kind: 'due', atMs: start + 5 * MINUTE + i * 10, what: 'loss' });
  }
  deliver(start + 7 * MINUTE);
  const all = counts(start, 8);
  expect(all.knownFromMs).toBe(start);
  expect(all.counts.with(5, 0)).toEqual([2, 0, 1, 0, 1, 0, 0, 1]);
  // An estimate: of every other entry, some are looked at.
  expect(all.counts[5]).toBeGreaterThan(0);
  expect(all.counts[5]).toBeLessThanOrEqual(200);
  expect(counts(start + 2 * MINUTE, 3).counts).toEqual([1, 0, 1]);
  const early = counts(start - 2 * MINUTE, 4);
  expect(early).toEqual({ knownFromMs: start, counts: [0, 0, 2, 0] });
});

test('what was pruned is not known', () => {
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
