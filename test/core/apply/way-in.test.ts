/** Whether the store's webhooks reach the mirror (docs/architecture.md#the-way-in). */
import { expect, test } from 'vitest';
import type { Claim } from '../../../src/core/input.ts';
import { EARLIEST_MS, REPLICA_LAG_MS } from '../../../src/core/limits.ts';
import { isUntold, silentFromMs } from '../../../src/core/merge/way-in.ts';
import type { WayIn } from '../../../src/core/model.ts';
import {
  change,
  Mirror,
  missedAt,
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

test('the first webhook proves the way in, and everything is read', () => {
  const mirror = new Mirror({ wayIn: 'unproven' });
  mirror.deliver(T0, change({ old: 5, new: 4 }));
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'proven', wayInSinceMs: T0, lastWebhookAtMs: T0 });
  expect(barrierOf(mirror)).toBe(T0 + REPLICA_LAG_MS);
  mirror.deliver(T0 + MINUTE, change({ old: 4, new: 3, updateTimeMs: T0 + MINUTE }));
  expect(barrierOf(mirror)).toBe(T0 + REPLICA_LAG_MS);
  expect(wayInOf(mirror)).toMatchObject({ wayInSinceMs: T0, lastWebhookAtMs: T0 + MINUTE });
});

test('a delivery of the command `send` proves nothing', () => {
  const mirror = new Mirror({ wayIn: 'unproven' });
  const test = { kind: 'delivery', isTest: true, inboxSeq: 1, atMs: T0, requestId: 'r1' } as const;
  mirror.applyInput({ ...test, changes: [], unreadable: [] });
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'unproven', lastWebhookAtMs: null });
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
  passGrace(mirror, T0 + MINUTE);
  expect(wayInOf(mirror).wayInSinceMs).toBe(T0 + 20 * S + GRACE);
});

test.each([
  ['less than 2 s after the last webhook is no proof', REPLICA_LAG_MS - 1, null],
  ['2 s after it is one', REPLICA_LAG_MS, { oldQty: 5, newQty: 4 }],
])('a difference from a read sent %s', (_, laterMs, untold) => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + laterMs });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  expect(wayInOf(mirror)).toMatchObject({ untold });
});

test('a difference from a quantity that no read has shown is no proof, though no webhook came', () => {
  const before = { oldQty: 5, shownBeforeMs: null, eventAtMs: EARLIEST_MS };
  const difference = { variantId: VARIANT, warehouseId: WAREHOUSE, newQty: 4, ...before };
  expect(isUntold({ lastWebhookAtMs: null, trustedAfterMs: EARLIEST_MS }, difference, [])).toBe(false);
});

test('the earliest untold change counts', () => {
  const mirror = receiving();
  [5, 4, 3].forEach((qty, i) => mirror.read(single(qty), { sentAtMs: T0 + (i + 1) * 10 * S }));
  expect(wayInOf(mirror).untold).toMatchObject({ oldQty: 5, newQty: 4, shownAtMs: T0 + 20 * S });
});

test.each(['pulled', 'bundle'] as const)('a change of a %s variant needs no webhook', (kind) => {
  const snapshot = (availableQty: number) => productSnapshot([variantSnapshot(null, { kind, availableQty })]);
  const mirror = receiving(snapshot(5));
  mirror.read(snapshot(5), { sentAtMs: T0 + 10 * S });
  mirror.read(snapshot(4), { sentAtMs: T0 + 20 * S });
  expect(wayInOf(mirror).untold).toBeNull();
});

test.each(['own', 'assembled'] as const)(
  'the total of a variant of kind %s without warehouses counts',
  (kind) => {
    const snapshot = (availableQty: number) =>
      productSnapshot([variantSnapshot(null, { kind, availableQty })]);
    const mirror = receiving(snapshot(5));
    mirror.read(snapshot(5), { sentAtMs: T0 + 10 * S });
    mirror.read(snapshot(4), { sentAtMs: T0 + 20 * S });
    expect(wayInOf(mirror).untold).toMatchObject({ variantId: VARIANT, warehouseId: null });
  },
);

test('a total that moves alone does not count where details list warehouses', () => {
  const snapshot = (availableQty: number) => productSnapshot([variantSnapshot({ 1: 5 }, { availableQty })]);
  const mirror = receiving(snapshot(5));
  mirror.read(snapshot(5), { sentAtMs: T0 + 10 * S });
  mirror.read(snapshot(4), { sentAtMs: T0 + 20 * S });
  expect([mirror.total(), wayInOf(mirror).untold]).toEqual([4, null]);
});

const claimsOf = (newQty: number) => [{ variantId: VARIANT, warehouseId: WAREHOUSE, newQty }];

test('one read that confirms a claim proves it, after a grace', () => {
  const mirror = receiving();
  mirror.read(single(4), { sentAtMs: T0 + S, claims: claimsOf(4) });
  expect(wayInOf(mirror).untold).toMatchObject({ oldQty: 5, newQty: 4 });
});

test.each<[what: string, other: Partial<Claim>]>([
  ['variant', { variantId: '999' }],
  ['warehouse', { warehouseId: '2' }],
  ['quantity', { newQty: 3 }],
])('one read confirms no claim about another %s', (_, other) => {
  const mirror = receiving();
  const claims = claimsOf(4).map((claim) => ({ ...claim, ...other }));
  mirror.read(single(4), { sentAtMs: T0 + S, claims });
  expect(wayInOf(mirror).untold).toBeNull();
});

test.each<[string, (mirror: Mirror) => unknown]>([
  [
    'webhooks of one instant',
    (mirror) => {
      mirror.deliver(T0, change({ old: 5, new: 4 }), change({ old: 4, new: 5 }));
      mirror.read(single(5), { sentAtMs: T0 + 10 * S, claims: claimsOf(5) });
    },
  ],
  [
    'a downtime',
    (mirror) => {
      mirror.applyInput(missedAt(T0));
      mirror.read(single(4), { sentAtMs: T0 + 10 * S, claims: claimsOf(4) });
    },
  ],
])('a stranger may guess a difference that %s explains', (_, differ) => {
  const mirror = receiving();
  differ(mirror);
  expect(wayInOf(mirror).untold).toBeNull();
});

const notStored = (mirror: Mirror, atMs: number, variantId = VARIANT): unknown =>
  mirror.applyInput({ ...missedAt(atMs), why: 'not_stored', variantIds: [variantId] });

test('keeps the change that has proven that webhooks are missing, whatever else is missed', () => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + 10 * S });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  passGrace(mirror, T0 + MINUTE);
  mirror.applyInput(missedAt(T0 + 2 * MINUTE));
  notStored(mirror, T0 + 2 * MINUTE);
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'missing', untold: { oldQty: 5, newQty: 4 } });
});

test('a delivery that could not be stored explains an untold change of its variants', () => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + 10 * S });
  notStored(mirror, T0 + 15 * S);
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  expect(wayInOf(mirror).untold).toBeNull();
  mirror.read(single(3), { sentAtMs: T0 + 30 * S });
  expect(wayInOf(mirror).untold).toMatchObject({ oldQty: 4, newQty: 3 });
});

test.each<[what: string, miss: (mirror: Mirror) => unknown, explains: boolean]>([
  ['a delivery that could not be stored', (mirror) => notStored(mirror, T0 + 21 * S), true],
  ['one of another variant, which', (mirror) => notStored(mirror, T0 + 21 * S, '999'), false],
  ['a downtime', (mirror) => mirror.applyInput(missedAt(T0 + 21 * S)), true],
])('%s explains an untold change that was shown before: %s', (_, miss, explains) => {
  const mirror = receiving();
  mirror.read(single(5), { sentAtMs: T0 + 10 * S });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  miss(mirror);
  passGrace(mirror, T0 + MINUTE);
  expect(wayInOf(mirror)).toMatchObject(explains ? { wayIn: 'proven', untold: null } : { wayIn: 'missing' });
});

const secrets = (mirror: Mirror, ...fingerprints: string[]): unknown =>
  mirror.applyInput({ kind: 'secrets', atMs: T0 + MINUTE, fingerprints });

test('other secrets need a new proof, unless one of those before still counts', () => {
  const mirror = receiving();
  secrets(mirror, 'a');
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'proven', secrets: ['a'] });
  secrets(mirror, 'b', 'a');
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'proven', secrets: ['b', 'a'] });
  secrets(mirror, 'b');
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'proven', secrets: ['b'] });
  secrets(mirror, 'c');
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'unproven', wayInSinceMs: T0 + MINUTE, secrets: ['c'] });
});

test('other secrets do not end the state in which webhooks are missing', () => {
  const mirror = receiving();
  secrets(mirror, 'a');
  mirror.read(single(5), { sentAtMs: T0 + 10 * S });
  mirror.read(single(4), { sentAtMs: T0 + 20 * S });
  passGrace(mirror, T0 + 30 * S);
  secrets(mirror, 'b');
  expect(wayInOf(mirror)).toMatchObject({ wayIn: 'missing', wayInSinceMs: T0 + 30 * S, secrets: ['b'] });
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
