import { describe, expect, test } from 'vitest';
import { planTick, Verification, type VerificationBound } from '../../src/reconcile/verification.ts';
import { newDatabases, productIds } from './mirror.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const BOUND: VerificationBound = { withinMs: 2 * HOUR, maxReadsPerSecond: 10 };

describe('a tick', () => {
  const plan = (over: Partial<Parameters<typeof planTick>[0]>) =>
    planTick({ products: 10_000, overdueAtEnd: 0, intervalMs: 15 * MINUTE, debt: 0, ...over }, BOUND);

  test.each([
    ['reads an eighth of the products in an eighth of the bound', {}, 1_250],
    ['reads as much as its interval needs', { intervalMs: HOUR }, 5_000],
    ['reads small stores nearly whole', { products: 12 }, 10],
    ['keeps to the rate', { products: 100_000 }, 9_000],
    ['reads half while it pays for a loss', { debt: 5_000 }, 625],
    ['pays no more than it owes', { debt: 100 }, 1_150],
    [
      'reads every product that would be too old, also while it pays',
      { debt: 5_000, overdueAtEnd: 2_000 },
      2_000,
    ],
    ['keeps to the rate then, too', { overdueAtEnd: 50_000 }, 9_000],
  ] as const)('%s', (_, over, reads) => {
    expect(plan(over).reads).toBe(reads);
  });
});

async function setUp(products: number, everyMs: number | null = 15 * MINUTE) {
  const databases = newDatabases();
  const time = { nowMs: Date.now() };
  await databases.writer.append({
    kind: 'listed',
    atMs: time.nowMs,
    productIds: productIds(products),
    lookup: false,
  });
  databases.change('UPDATE products SET read_at_ms = ?', time.nowMs);
  const verification = new Verification({
    databases,
    now: () => time.nowMs,
    bound: BOUND,
    nextTickAtMs: (afterMs) => (everyMs === null ? null : afterMs + everyMs),
  });
  /** Reads all that may be read, at each `everyMs`. */
  const readsIn = async (ms: number, stepMs = MINUTE): Promise<number[]> => {
    const reads = [];
    for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
      time.nowMs += stepMs;
      await verification.check();
      const free = verification.free();
      verification.begun(free);
      reads.push(free);
    }
    return reads;
  };
  return { databases, time, verification, readsIn };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

test('spreads the reads of a tick evenly', async () => {
  const { verification, readsIn } = await setUp(2_400);
  await verification.check();
  expect(verification.free()).toBe(0);
  const reads = await readsIn(14 * MINUTE);
  expect(sum(reads)).toBe(280);
  expect(reads.every((each) => Math.abs(each - 20) <= 1)).toBe(true);
});

test('keeps its rate of reads after the clock has stepped back', async () => {
  const { verification, readsIn, time } = await setUp(2_400);
  verification.noteLoss();
  expect(sum(await readsIn(MINUTE))).toBe(1_800);
  time.nowMs -= 7 * HOUR;
  verification.noteLoss();
  expect(sum(await readsIn(MINUTE))).toBe(1_800);
  expect(sum(await readsIn(14 * MINUTE))).toBe(140);
});

test('does not make up in a burst for reads that were held back', async () => {
  const { verification, time } = await setUp(2_400);
  await verification.check();
  time.nowMs += 10 * MINUTE;
  expect(verification.free()).toBe(50);
});

test('reads six ticks at once after a loss, and half of the next ticks pays for it', async () => {
  const { verification, readsIn } = await setUp(2_400);
  await verification.check();
  verification.noteLoss();
  verification.noteLoss();
  await verification.check();
  expect(verification.free()).toBe(1_800);
  verification.begun(1_800);
  expect(sum(await readsIn(14 * MINUTE))).toBe(280);
  await readsIn(MINUTE);
  expect(sum(await readsIn(14 * MINUTE))).toBe(140);
});

test.each([
  ['five minutes', 2_000, 5],
  ['the time that its reads take at the rate of the schedule', 9_600, 12],
])('reads after further losses at most every %s', async (_, products, minutes) => {
  const { verification, readsIn } = await setUp(products, null);
  verification.noteLoss();
  await readsIn(MINUTE);
  verification.noteLoss();
  const reads = await readsIn(minutes * MINUTE);
  expect(reads.map((each) => each > 0)).toEqual(reads.map((_each, i) => i === minutes - 1));
});

test('reads after a loss while the schedule is off, and nothing else', async () => {
  const { verification, readsIn } = await setUp(2_400, null);
  expect(sum(await readsIn(HOUR))).toBe(0);
  verification.noteLoss();
  expect(sum(await readsIn(HOUR))).toBe(1_800);
});

test('reads every product of the mirror at most once after a loss', async () => {
  const { verification, readsIn } = await setUp(7, null);
  verification.noteLoss();
  expect(sum(await readsIn(MINUTE))).toBe(7);
});
