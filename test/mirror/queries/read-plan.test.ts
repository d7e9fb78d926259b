/** What the schedule reads, chosen from a real file. */
import { expect, test } from 'vitest';
import { queries } from '../../../src/mirror/reader/queries.ts';
import { delivery, detail, DirectWriter, item, T0 } from '../mirror-file.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const one = (id: string, qty = 5) => [{ id, levels: { 1: qty } }];

/** Products `10` to `19`, each with one level, read an hour before T0. */
function mirror(products = 10): DirectWriter {
  const writer = new DirectWriter();
  for (let n = 10; n < 10 + products; n++) {
    writer.read(`${n}`, detail(`${n}`, one(`${n}0`)), T0 - HOUR_MS);
  }
  return writer;
}

/** A change of a product's level. */
function change(writer: DirectWriter, product: string, step: number, atMs: number): void {
  const body = delivery(
    `${product}-${step}`,
    item({ id: `${product}0`, old: 5 - step, new: 4 - step, update_time: atMs }),
  );
  writer.deliver(body, atMs);
}

function choose(writer: DirectWriter, nowMs: number, over: object = {}): string[] {
  const options = { elapsedMs: HOUR_MS, readsPerHour: 600, longestMs: 1_000 * HOUR_MS, ...over };
  expect(queries.noteActivity(writer.db, { nowMs, gaps: [] })).toBe(true);
  return queries.planReads(writer.db, { nowMs, ...options });
}

/** So many gaps were proven lately. */
function prove(writer: DirectWriter, nowMs: number, losses: number): void {
  const gaps = Array.from({ length: losses }, () => ({ productId: '10', openedAtMs: nowMs }));
  queries.noteActivity(writer.db, { nowMs, gaps });
}

test('while nothing is lost, hardly anything is read', () => {
  const writer = mirror();
  for (let step = 0; step < 4; step++) change(writer, '12', step, T0 + step * MINUTE_MS);
  expect(choose(writer, T0 + HOUR_MS)).toEqual([]);
  expect(queries.readOutlook(writer.db)).toMatchObject({ reads_per_hour: 600 });
});

test('a proven loss raises the budget and what is expected wrong, and products are read', () => {
  const writer = mirror();
  choose(writer, T0);
  const calm = queries.readOutlook(writer.db);
  prove(writer, T0 + MINUTE_MS, 8);
  for (let step = 0; step < 4; step++) change(writer, '12', step, T0 + step * MINUTE_MS);
  expect(choose(writer, T0 + HOUR_MS).length).toBeGreaterThan(0);
  const proven = queries.readOutlook(writer.db);
  expect(proven?.reads_per_hour).toBeGreaterThan(600);
  expect(proven?.loss_rate).toBeGreaterThan(calm?.loss_rate ?? 1);
  expect(proven?.curve.map((point) => point.expected_wrong)).toEqual(
    proven?.curve.map((point) => point.expected_wrong).toSorted((a, b) => b - a),
  );
});

test('the budget is kept, and those already requested are left out', () => {
  const writer = mirror(20);
  for (let n = 10; n < 20; n++) change(writer, `${n}`, 0, T0 - 50 * MINUTE_MS + n);
  prove(writer, T0, 50);
  const atRest = { readsPerHour: 1, elapsedMs: 30 * MINUTE_MS };
  const chosen = choose(writer, T0 + MINUTE_MS, atRest);
  // Twelve times the budget at most, and half an hour of it.
  expect(chosen.length).toBeGreaterThan(0);
  expect(chosen.length).toBeLessThanOrEqual(6);
  const productIds = chosen;
  writer.append({ kind: 'oblige', atMs: T0 + MINUTE_MS, reason: 'stale', productIds, variantIds: [] });
  for (const productId of choose(writer, T0 + MINUTE_MS, atRest)) expect(chosen).not.toContain(productId);
});

test('of two that change alike the one certain longer ago comes first, and a read makes it wait', () => {
  const writer = mirror();
  prove(writer, T0, 50);
  for (let step = 0; step < 3; step++) {
    change(writer, '12', step, T0 + step * MINUTE_MS);
    change(writer, '13', step, T0 + (step + 1) * MINUTE_MS);
  }
  const nowMs = T0 + HOUR_MS;
  const both = choose(writer, nowMs).filter((productId) => productId === '12' || productId === '13');
  expect(both).toEqual(['12', '13']);
  writer.read('12', detail('12', one('120', 2)), nowMs);
  const later = choose(writer, nowMs + MINUTE_MS);
  expect(later).toContain('13');
  expect(later.indexOf('12') === -1 || later.indexOf('12') > later.indexOf('13')).toBe(true);
});

test('no product goes unread for longer than it may', () => {
  const writer = mirror();
  writer.read('14', detail('14', one('140')), T0);
  const chosen = choose(writer, T0 + HOUR_MS, { readsPerHour: 0, longestMs: 2.5 * HOUR_MS });
  expect(chosen).toHaveLength(8);
  expect(chosen).not.toContain('14');
});

test('what is removed is not read', () => {
  const writer = mirror(3);
  prove(writer, T0, 50);
  change(writer, '11', 0, T0 - 30 * MINUTE_MS);
  writer.read('11', null, T0 + MINUTE_MS);
  writer.read('11', null, T0 + 2 * MINUTE_MS);
  const chosen = choose(writer, T0 + HOUR_MS, { longestMs: 2 * HOUR_MS });
  expect(chosen).toContain('12');
  expect(chosen).not.toContain('11');
});

test('a lost last change that a read found is a proof, unless its delivery was on its way', () => {
  const outlookAfter = (lateMs: number | null) => {
    const writer = mirror();
    choose(writer, T0);
    change(writer, '12', 0, T0 + 1_000);
    writer.read('12', detail('12', one('120', 3)), T0 + MINUTE_MS);
    if (lateMs !== null) {
      const body = delivery('late', item({ id: '120', old: 4, new: 3, update_time: T0 + MINUTE_MS - 5_000 }));
      writer.deliver(body, T0 + MINUTE_MS + lateMs);
    }
    choose(writer, T0 + HOUR_MS);
    return queries.readOutlook(writer.db)?.loss_rate ?? 0;
  };
  expect(outlookAfter(null)).toBeGreaterThan(1.5 * outlookAfter(1_000));
});
