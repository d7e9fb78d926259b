/** A variant that moves to another product (docs/architecture.md#variants-that-move). */
import { describe, expect, test } from 'vitest';
import { MOVED_LOOKUP_MS } from '../../../src/core/limits.ts';
import { present } from '../../shared/present.ts';
import { T0, Mirror, change, kinds, productSnapshot, variantSnapshot } from '../builders.ts';

const S = 1_000;
const MINUTE = 60 * S;
const OLD = '10';
const NEW = '20';

const own = variantSnapshot({ 1: 1 }, { variantId: '101' });
const moving = (qty: number) => variantSnapshot({ 1: qty });
const WITH = (qty = 5) => productSnapshot([own, moving(qty)]);
const WITHOUT = productSnapshot([own]);
const TAKER = (qty = 5) => productSnapshot([moving(qty)]);

function mirrorOf(): Mirror {
  const mirror = new Mirror();
  mirror.read(WITH(), { sentAtMs: T0, productId: OLD });
  mirror.read(productSnapshot([]), { sentAtMs: T0, productId: NEW });
  const other = productSnapshot([variantSnapshot({ 1: 3 }, { variantId: '301' })]);
  mirror.read(other, { sentAtMs: T0, productId: '30' });
  return mirror;
}

function moved(): Mirror {
  const mirror = mirrorOf();
  for (const sentAtMs of [T0 + MINUTE, T0 + 2 * MINUTE]) mirror.read(WITHOUT, { sentAtMs, productId: OLD });
  expect(mirror.qty()).toBeNull();
  return mirror;
}

const news = (old: number, atMs: number) => change({ old, new: old - 1, updateTimeMs: atMs });
const owner = (mirror: Mirror): string | null | undefined => mirror.tables.variant('100')?.productId;

describe('removed from its old product', () => {
  test('is looked up when a newer webhook names it, and returns', () => {
    const mirror = moved();
    const atMs = T0 + 3 * MINUTE;
    mirror.deliver(atMs, news(5, atMs));
    mirror.read(WITHOUT, { sentAtMs: atMs + 2 * S, productId: OLD });
    expect([mirror.reason(OLD), mirror.tables.variant('100')?.lookupAtMs]).toEqual([
      null,
      atMs + MOVED_LOOKUP_MS,
    ]);
    mirror.applyInput({
      kind: 'listed',
      atMs: atMs + 6 * S,
      sentAtMs: atMs + 6 * S,
      productIds: [NEW],
      lookup: true,
    });
    expect(mirror.reason(NEW)).toBe('unmapped');
    mirror.read(TAKER(4), { sentAtMs: atMs + 8 * S, productId: NEW });
    expect([mirror.qty(), mirror.total(), owner(mirror)]).toEqual([4, 4, NEW]);
    expect([mirror.reason(NEW), mirror.tables.variant('100')?.lookupAtMs]).toEqual([null, null]);
  });

  test('is not looked up after two full scans until the next webhook', () => {
    const mirror = moved();
    const atMs = T0 + 3 * MINUTE;
    mirror.deliver(atMs, news(5, atMs));
    const rows = mirror.tables.changes.length;
    for (const missedAtMs of [atMs + MINUTE, atMs + 2 * MINUTE]) {
      expect(mirror.tables.variant('100')?.lookupAtMs).not.toBeNull();
      const at = { atMs: missedAtMs, sentAtMs: missedAtMs };
      mirror.applyInput({ kind: 'lookup_missed', ...at, variantIds: ['100'] });
    }
    expect(mirror.tables.variant('100')).toMatchObject({ lookupAtMs: null, missingAtMs: null });
    expect(mirror.tables.changes).toHaveLength(rows);
    mirror.deliver(atMs + 9 * MINUTE, news(4, atMs + 9 * MINUTE));
    expect(mirror.tables.variant('100')?.lookupAtMs).not.toBeNull();
  });
});

test('is read less and less often while webhooks name it', () => {
  const mirror = mirrorOf();
  const readAtMs: number[] = [];
  for (let atMs = T0 + MINUTE; atMs < T0 + 60 * MINUTE; atMs += S) {
    mirror.deliver(atMs, news(5_000 - (atMs - T0) / S, atMs));
    const due = mirror.tables.readRequest(OLD);
    if (readAtMs.length > 0) expect(due).toMatchObject({ isSuspect: true });
    if (readAtMs.length > 0 && present(due).notBeforeMs > atMs) continue;
    mirror.read(WITHOUT, { sentAtMs: atMs + 1, productId: OLD });
    readAtMs.push(atMs);
  }
  const pausesS = readAtMs.slice(1).map((atMs, i) => (atMs - present(readAtMs[i])) / S);
  expect(pausesS.slice(0, 2)).toEqual([3, 3]);
  expect(pausesS.length).toBeLessThan(16);
  expect(Math.max(...pausesS)).toBeGreaterThanOrEqual(15 * 60);
  const atMs = T0 + 70 * MINUTE;
  mirror.read(TAKER(4), { sentAtMs: atMs, productId: NEW });
  expect([mirror.qty(), owner(mirror), mirror.reason(NEW)]).toEqual([4, NEW, null]);
});

describe('missing from its product and named by a webhook before the second read', () => {
  const namedAtMs = T0 + MINUTE + S;

  function named(without: typeof WITHOUT | null = WITHOUT): Mirror {
    const mirror = mirrorOf();
    mirror.read(without, { sentAtMs: T0 + MINUTE, productId: OLD });
    mirror.list(T0 + MINUTE + 2 * S, [NEW]);
    mirror.deliver(namedAtMs, news(5, namedAtMs));
    mirror.read(without, { sentAtMs: T0 + 2 * MINUTE, productId: OLD });
    return mirror;
  }

  test('gives its rows new numbers, because they show the product no longer', () => {
    const mirror = named();
    const { seq } = present(mirror.rows().at(-1));
    expect(present(mirror.tables.stockLevel('100', '1')).changeSeq).toBeGreaterThan(seq);
    expect(present(mirror.tables.variant('100')).changeSeq).toBeGreaterThan(seq);
  });

  test('keeps the gap that the webhook opened, because no read has shown it since', () => {
    const mirror = mirrorOf();
    mirror.read(WITHOUT, { sentAtMs: T0 + MINUTE, productId: OLD });
    mirror.deliver(namedAtMs, news(4, namedAtMs));
    const facts = mirror.read(WITHOUT, { sentAtMs: T0 + 2 * MINUTE, productId: OLD });
    expect(owner(mirror)).toBeNull();
    expect(kinds(facts)).not.toContain('gap_proved');
    expect(mirror.gaps()).toEqual([{ fromQty: 5, toQty: 4 }]);
  });

  test('is not looked up again for a change that the last read of it saw', () => {
    const mirror = named();
    for (const sentAtMs of [T0 + 3 * MINUTE, T0 + 4 * MINUTE])
      mirror.applyInput({ kind: 'lookup_missed', atMs: sentAtMs, sentAtMs, variantIds: ['100'] });
    mirror.deliver(T0 + 5 * MINUTE, news(5, T0 - 10 * S));
    expect(mirror.tables.variant('100')).toMatchObject({ goneAtMs: T0 + 4 * MINUTE, lookupAtMs: null });
  });
});

describe('shown by both products', () => {
  test('is reported once as moved', () => {
    const mirror = mirrorOf();
    mirror.read(TAKER(), { sentAtMs: T0 + MINUTE, productId: NEW });
    mirror.read(TAKER(), { sentAtMs: T0 + 2 * MINUTE, productId: NEW });
    expect(mirror.facts.filter(({ kind }) => kind === 'moved')).toEqual([
      { kind: 'moved', variantId: '100', fromProductId: OLD, toProductId: NEW },
    ]);
  });

  test('within a replica’s lag, belongs to the later one until both are read again', () => {
    const mirror = mirrorOf();
    mirror.read(WITH(), { sentAtMs: T0 + MINUTE, productId: OLD });
    mirror.read(TAKER(), { sentAtMs: T0 + MINUTE + S, productId: NEW });
    expect([owner(mirror), mirror.reason(OLD), mirror.reason(NEW)]).toEqual([NEW, 'conflict', 'conflict']);
  });

  test.each([
    ['within a replica’s lag', T0 + MINUTE - S, T0 + MINUTE - S],
    ['while one answer was under way', T0 + MINUTE - 10 * S, T0 + MINUTE + S],
  ])('%s, both are read again once', (_, sentAtMs, receivedAtMs) => {
    const mirror = mirrorOf();
    mirror.read(WITH(), { sentAtMs: T0 + MINUTE, productId: OLD });
    // It moved, and a change was lost: one answer shows the level before that, the other the level after it.
    mirror.read(TAKER(-1), { sentAtMs, receivedAtMs, productId: NEW });
    expect([owner(mirror), mirror.reason(OLD), mirror.reason(NEW)]).toEqual([OLD, 'conflict', 'conflict']);
    for (const [productId, detail] of [[OLD, WITHOUT] as const, [NEW, TAKER(-1)] as const]) {
      mirror.read(detail, { sentAtMs: present(mirror.tables.readRequest(productId)).notBeforeMs, productId });
    }
    expect([owner(mirror), mirror.qty(), mirror.reason(NEW)]).toEqual([NEW, -1, null]);
  });
});

test.each([
  ['after the last read that showed it there', 2 * S, NEW],
  ['less than 2 s before that read', -2 * S + 1, NEW],
  ['2 s before that read', -2 * S, null],
])('with a delivery %s, is searched for instead of removed', (_, afterReadMs, ownerId) => {
  const mirror = mirrorOf();
  const atMs = T0 + MINUTE;
  mirror.deliver(atMs + afterReadMs, news(5, atMs + afterReadMs));
  mirror.read(WITH(4), { sentAtMs: atMs, productId: OLD });
  for (const sentAtMs of [atMs + MINUTE, atMs + 2 * MINUTE])
    mirror.read(WITHOUT, { sentAtMs, productId: OLD });
  const isSearched = ownerId !== null;
  expect(mirror.qty()).toBe(isSearched ? 4 : null);
  expect(mirror.tables.variant('100')?.lookupAtMs).toBe(isSearched ? atMs + 2 * MINUTE : null);
  mirror.read(TAKER(4), { sentAtMs: atMs + 3 * MINUTE, productId: NEW });
  expect([mirror.qty(), owner(mirror)]).toEqual([4, NEW]);
});
