import fc from 'fast-check';
import { expect, test } from 'vitest';
import { faded, shareOf, type StoreActivity } from '../../../src/core/freshness/activity.ts';
import { LossHistory, lostSince } from '../../../src/core/freshness/loss-history.ts';
import {
  chooseReads,
  placeOf,
  type Candidate,
  type Candidates,
} from '../../../src/core/freshness/read-plan.ts';
import { readValueMs } from '../../../src/core/freshness/read-value.ts';

const T0 = 1_700_000_040_000;
const HOUR_MS = 3_600_000;

function quietProduct(productId: string, over: Partial<Candidate> = {}): Candidate {
  return { productId, changes: 1, changedAtMs: T0, readAtMs: T0, levels: 1, ...over };
}

/** An hour of changes, of which some were lost. */
function lossesUpTo(nowMs: number) {
  const losses = LossHistory.begunAt(T0 - HOUR_MS);
  for (let atMs = T0 - HOUR_MS; atMs < nowMs; atMs += 1_000) {
    losses.received(1, atMs);
    if (atMs % 100_000 === 0) losses.proved(atMs - 60_000, atMs);
  }
  return losses.at(nowMs);
}

const nowMs = T0 + HOUR_MS;
const wanted = { leastMs: 0, losses: lossesUpTo(nowMs) };

function activityOf(products: readonly Candidate[]): StoreActivity {
  return {
    changes: products.reduce((sum, one) => sum + faded(one.changes, nowMs - one.changedAtMs), 0),
    products: products.length,
  };
}

class Plan implements Candidates {
  looks = 0;
  readonly store: StoreActivity;
  readonly #ordered = new Map<number, Candidate[]>();

  /** @param places where they stand, other than where they belong. */
  constructor(products: readonly Candidate[], places: Readonly<Record<string, number>> = {}) {
    this.store = activityOf(products);
    const placed = products.map((one) => ({ one, ...placeOf(one, nowMs, this.store) }));
    placed.sort((a, b) => a.certainAtMs - b.certainAtMs);
    for (const { one, rateClass } of placed) {
      const stands = places[one.productId] ?? rateClass;
      this.#ordered.set(stands, [...(this.#ordered.get(stands) ?? []), one]);
    }
  }

  get classes(): number[] {
    return [...this.#ordered.keys()];
  }

  next(rateClass: number): Candidate | null {
    this.looks += 1;
    return this.#ordered.get(rateClass)?.shift() ?? null;
  }

  choose(limit: number, over: Partial<typeof wanted> = {}) {
    return chooseReads(this, { ...wanted, ...over, store: this.store, limit });
  }
}

const idsOf = (reads: readonly { readonly productId: string }[]): string[] =>
  reads.map(({ productId }) => productId);

test('of two that change alike the one certain longer ago is read first', () => {
  const { chosen } = new Plan([quietProduct('1', { readAtMs: T0 + 1_000 }), quietProduct('2')]).choose(2);
  expect(idsOf(chosen)).toEqual(['2', '1']);
});

test('what came to be certain by a delivery waits', () => {
  const changedAtMs = nowMs - 1_000;
  // Not for changing less often: that would speak for the first.
  const products = [quietProduct('1', { changedAtMs }), quietProduct('2', { changes: 2 })];
  expect(idsOf(new Plan(products).choose(1).chosen)).toEqual(['2']);
  expect(placeOf(quietProduct('1', { changedAtMs }), nowMs, activityOf(products)).certainAtMs).toBe(
    changedAtMs,
  );
});

test('those that stand in another class hide none behind them, and are named', () => {
  const idle = Array.from({ length: 9 }, (_, i) =>
    quietProduct(String(i), { changes: 0, readAtMs: T0 - 1_000 }),
  );
  const products = [...idle, quietProduct('9', { changes: 50 })];
  const { rateClass } = placeOf(quietProduct('9', { changes: 50 }), nowMs, activityOf(products));
  const places = Object.fromEntries(idle.map(({ productId }) => [productId, rateClass]));
  const { chosen, misplaced } = new Plan(products, places).choose(1);
  expect(idsOf(chosen)).toEqual(['9']);
  expect(idsOf(misplaced)).toEqual(idsOf(idle));
});

test('reads that are worth too little are not made', () => {
  expect(new Plan([quietProduct('1'), quietProduct('2')]).choose(9, { leastMs: 1e12 }).chosen).toEqual([]);
});

test('none is chosen twice, and all are when there is room', () => {
  const products = Array.from({ length: 50 }, (_, i) => quietProduct(String(i), { readAtMs: T0 + i }));
  const { chosen } = new Plan(products).choose(99);
  expect(new Set(idsOf(chosen)).size).toBe(50);
  expect(chosen).toHaveLength(50);
});

const anyProducts = fc.array(
  fc.record({
    changes: fc.integer({ min: 0, max: 400 }),
    readBefore: fc.integer({ min: 2_000, max: 2 * HOUR_MS }),
    changedBefore: fc.integer({ min: 1_000, max: 2 * HOUR_MS }),
  }),
  { minLength: 1, maxLength: 60 },
);

test('what is chosen is worth nearly as much as the best that could be', () => {
  fc.assert(
    fc.property(anyProducts, fc.integer({ min: 1, max: 20 }), (plans, limit) => {
      const { losses } = wanted;
      const products = plans.map((plan, i) => ({
        productId: String(i),
        changes: plan.changes,
        changedAtMs: nowMs - plan.changedBefore,
        readAtMs: nowMs - plan.readBefore,
        levels: 1,
      }));
      const store = activityOf(products);
      const values = products.map(({ changes, changedAtMs, readAtMs, levels }) => {
        const share = shareOf(faded(changes, nowMs - changedAtMs), store);
        return readValueMs(
          {
            lostSinceRead: share * lostSince(losses, readAtMs),
            lostSinceChange: share * lostSince(losses, Math.max(changedAtMs, readAtMs)),
            changesPerMs: share * losses.changesPerMs,
            levels,
          },
          losses.lossRate,
        );
      });
      values.sort((a, b) => b - a);
      const best = values.slice(0, limit).reduce((sum, one) => sum + one, 0);
      const { chosen } = new Plan(products).choose(limit);
      const got = chosen.reduce((sum, { savesMs }) => sum + savesMs, 0);
      // Of two in one class, whose shares differ by √2 at most, the wrong one may be first.
      expect(got).toBeGreaterThanOrEqual(0.7 * best);
    }),
  );
});

test('a large catalogue is not looked through', () => {
  const products = Array.from({ length: 2_000 }, (_, i) =>
    quietProduct(String(i), { changes: i % 40, readAtMs: T0 + i }),
  );
  const plan = new Plan(products);
  plan.choose(20);
  expect(plan.looks).toBeLessThan(100);
});
