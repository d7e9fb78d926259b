/** Whether the store's webhooks reach the mirror (docs/architecture.md#the-way-in). */
import { expect, test } from 'vitest';
import { EARLIEST_MS, REPLICA_LAG_MS } from '../../../src/core/limits.ts';
import { silentFromMs } from '../../../src/core/merge/way-in.ts';
import type { WayIn } from '../../../src/core/model.ts';
import {
  change,
  Mirror,
  missedAt,
  PRODUCT,
  productSnapshot,
  single,
  T0,
  VARIANT,
  variantSnapshot,
  WAREHOUSE,
} from '../builders.ts';

const S = 1_000;
const MINUTE = 60_000;
/** For the late webhook that tells an untold change. */
const GRACE = 6 * S;

const wayInOf = ({ tables }: Mirror): WayIn => tables.state();
const barrierOf = ({ tables }: Mirror): number => tables.state().trustedAfterMs;

/** Webhooks arrive; the last one at T0. */
function receiving(snapshot = single(5)): Mirror {
  const mirror = new Mirror();
  mirror.read(snapshot, { sentAtMs: T0 - MINUTE });
  mirror.deliver(T0, change({ variantId: '999', old: 2, new: 1 }));
  return mirror;
}

const passGrace = (mirror: Mirror, atMs: number): unknown => mirror.applyInput({ kind: 'untold_due', atMs });

test('the first webhook proves the way in, and what was missed before it is read', () => {
  const mirror = new Mirror({ wayIn: 'unproven' });
  mirror.deliver(T0, change({ old: 5, new: 4 }));
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'proven', wayInSinceMs: T0, lastWebhookAtMs: T0 });
  expect(barrierOf(mirror)).toBe(T0 + REPLICA_LAG_MS);
  mirror.deliver(T0 + MINUTE, change({ old: 4, new: 3, updateTimeMs: T0 + MINUTE }));
  expect(barrierOf(mirror)).toBe(T0 + REPLICA_LAG_MS);
});

test('a webhook of the command send proves nothing and ends nothing', () => {
  const mirror = new Mirror({ wayIn: 'unproven' });
  mirror.applyInput({
    kind: 'delivery',
    isTest: true,
    inboxSeq: 1,
    atMs: T0,
    requestId: 'test',
    changes: [],
    unreadable: [],
  });
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'unproven', lastWebhookAtMs: null });
  expect(barrierOf(mirror)).toBe(EARLIEST_MS);
});

test('two reads after the last webhook that differ prove that webhooks are missing, after a grace', () => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + 10 * S });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  const untold = {
    variantId: VARIANT,
    warehouseId: WAREHOUSE,
    oldQty: 5,
    newQty: 4,
    shownAtMs: T0 + 20 * S,
  };
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'proven', untold });
  passGrace(mirror, T0 + 20 * S + GRACE - 1);
  expect(wayInOf(mirror).wayIn).toBe('proven');
  passGrace(mirror, T0 + 20 * S + GRACE);
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'missing', wayInSinceMs: T0 + 20 * S + GRACE, untold });
  expect(barrierOf(mirror)).toBe(EARLIEST_MS);
});

test('the next webhook ends it by raising the barrier', () => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + 10 * S });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  passGrace(mirror, T0 + MINUTE);
  mirror.deliver(
    T0 + 2 * MINUTE,
    change({ variantId: '999', old: 1, new: 0, updateTimeMs: T0 + 2 * MINUTE }),
  );
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'proven', untold: null });
  expect(barrierOf(mirror)).toBe(T0 + 2 * MINUTE + REPLICA_LAG_MS);
});

test('a webhook within the grace shows that the way in works', () => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + 10 * S });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  mirror.deliver(T0 + 22 * S, change({ variantId: '999', old: 1, new: 0, updateTimeMs: T0 + 22 * S }));
  passGrace(mirror, T0 + MINUTE);
  expect(wayInOf(mirror).wayIn).toBe('proven');
  expect(barrierOf(mirror)).toBe(EARLIEST_MS);
});

test.each<[string, firstSentAtMs: number]>([
  ['before the last webhook', T0 - S],
  // A lagging replica may still have answered with the time before it.
  ['less than a lag after it', T0 + REPLICA_LAG_MS - 1],
])('one read %s proves nothing: an ordinary lost webhook looks the same', (_, sentAtMs) => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  expect(wayInOf(mirror).untold).toBeNull();
});

test('the order of two reads after the last webhook does not matter', () => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + 10 * S, receivedAtMs: T0 + 12 * S });
  mirror.read(single(4), { sentAtMs: T0 + 11 * S });
  expect(wayInOf(mirror).untold).toMatchObject({ oldQty: 5, newQty: 4 });
});

test.each(['pulled', 'bundle'] as const)('a change of a %s variant needs no webhook', (kind) => {
  const snapshot = (availableQty: number) => productSnapshot([variantSnapshot(null, { kind, availableQty })]);
  const mirror = receiving(snapshot(5));
  mirror.read(snapshot(5), { sentAtMs: T0 + 10 * S });
  mirror.read(snapshot(4), { sentAtMs: T0 + 20 * S });
  expect(wayInOf(mirror).untold).toBeNull();
});

test('the total counts where details have no warehouses', () => {
  const snapshot = (availableQty: number) => productSnapshot([variantSnapshot(null, { availableQty })]);
  const mirror = receiving(snapshot(5));
  mirror.read(snapshot(5), { sentAtMs: T0 + 10 * S });
  mirror.read(snapshot(4), { sentAtMs: T0 + 20 * S });
  expect(wayInOf(mirror).untold).toMatchObject({ variantId: VARIANT, warehouseId: null });
});

const CLAIM = { variantId: VARIANT, warehouseId: WAREHOUSE, newQty: 4 };

test.each<[string, claims: (typeof CLAIM)[], isProof: boolean]>([
  ['the quantity that it claimed', [CLAIM], true],
  ['another quantity', [{ ...CLAIM, newQty: 3 }], false],
  ['the quantity in another warehouse', [{ ...CLAIM, warehouseId: '2' }], false],
  ['a quantity without a claim', [], false],
])('one read after a refused request proves it if it shows %s', (_, claims, isProof) => {
  const mirror = receiving();
  mirror.read(single(4), { sentAtMs: T0 + 20 * S, claims });
  expect(wayInOf(mirror).untold !== null).toBe(isProof);
});

test('a claim that the mirror already has proves nothing', () => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + 20 * S, claims: [{ ...CLAIM, newQty: 5 }] });
  expect(wayInOf(mirror).untold).toBeNull();
});

test('a time that was missed explains an untold change', () => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + 10 * S });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  mirror.applyInput(missedAt(T0 + 21 * S));
  passGrace(mirror, T0 + MINUTE);
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'proven', untold: null });
  // The first of two reads was sent before the barrier.
  mirror.read(single(3), { sentAtMs: T0 + 90 * S });
  expect(wayInOf(mirror).untold).toBeNull();
  mirror.read(single(2), { sentAtMs: T0 + 120 * S });
  expect(wayInOf(mirror).untold).toMatchObject({ oldQty: 3, newQty: 2 });
});

const notStored = (mirror: Mirror, atMs: number): unknown =>
  mirror.applyInput({ ...missedAt(atMs), why: 'not_stored', variantIds: [VARIANT] });

test('a delivery that could not be stored explains an untold change of its variants', () => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + 10 * S });
  notStored(mirror, T0 + 15 * S);
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  expect(wayInOf(mirror).untold).toBeNull();
  mirror.read(single(3), { sentAtMs: T0 + 30 * S });
  expect(wayInOf(mirror).untold).toMatchObject({ oldQty: 4, newQty: 3 });
});

test('a delivery that could not be stored explains an untold change that was shown before', () => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + 10 * S });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  notStored(mirror, T0 + 21 * S);
  passGrace(mirror, T0 + MINUTE);
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'proven', untold: null });
});

test('an unproven way in becomes a missing one when reads prove it', () => {
  const mirror = new Mirror({ wayIn: 'unproven' });
  mirror.read(single(5), { sentAtMs: T0 });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  passGrace(mirror, T0 + MINUTE);
  expect(wayInOf(mirror).wayIn).toBe('missing');
});

const secrets = (mirror: Mirror, ...fingerprints: string[]): unknown =>
  mirror.applyInput({ kind: 'secrets', atMs: T0 + MINUTE, fingerprints });

test('other secrets need a new proof, unless one of those before still counts', () => {
  const mirror = receiving();
  secrets(mirror, 'a');
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'proven', secrets: ['a'] });
  secrets(mirror, 'b', 'a');
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'proven', secrets: ['b', 'a'] });
  secrets(mirror, 'c');
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'unproven', wayInSinceMs: T0 + MINUTE, secrets: ['c'] });
});

test('another secret does not end a proof that webhooks are missing', () => {
  const mirror = receiving();
  secrets(mirror, 'a');
  mirror.read(single(5), { sentAtMs: T0 + 10 * S });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  passGrace(mirror, T0 + MINUTE);
  secrets(mirror, 'b');
  expect(wayInOf(mirror).wayIn).toBe('missing');
});

/** When a silence becomes unusual, after webhooks with these gaps. */
function silenceAfter(gapsMs: readonly number[]): number {
  const mirror = new Mirror();
  let atMs = T0;
  mirror.deliver(atMs);
  for (const gapMs of gapsMs) mirror.deliver((atMs += gapMs));
  return (silentFromMs(wayInOf(mirror)) ?? 0) - atMs;
}

const times = (count: number, gapMs: number): number[] => Array.from({ length: count }, () => gapMs);

test('a silence is unusual after ten mean gaps, and never before 30 s', () => {
  expect(silentFromMs({ lastWebhookAtMs: null, meanGapMs: 3 * S })).toBeNull();
  expect(silenceAfter([])).toBe(30 * S);
  expect(silenceAfter(times(1_000, 1))).toBe(30 * S);
  expect(silenceAfter(times(300, MINUTE))).toBeCloseTo(10 * MINUTE, -4);
});

test('a night does not make the next hours seem usual', () => {
  const day = times(300, MINUTE);
  expect(silenceAfter([...day, 8 * 60 * MINUTE])).toBeLessThan(13 * MINUTE);
});

test('a product that no read has shown twice proves nothing', () => {
  const mirror = receiving();
  mirror.read(productSnapshot([variantSnapshot({ [WAREHOUSE]: 5, 2: 7 })]), { sentAtMs: T0 + 20 * S });
  expect(wayInOf(mirror).untold).toBeNull();
  expect(mirror.tables.product(PRODUCT)?.readAtMs).toBe(T0 + 20 * S);
});
