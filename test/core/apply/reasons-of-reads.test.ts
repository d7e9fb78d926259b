/** The reason that the feed gives for a quantity that a read set (docs/reading-the-mirror.md#reasons-of-reads). */
import { expect, test } from 'vitest';
import type { ProductSnapshot } from '../../../src/core/input.ts';
import type { Reason } from '../../../src/core/reasons.ts';
import {
  T0,
  Mirror,
  PRODUCT,
  VARIANT,
  WAREHOUSE,
  change,
  missedAt,
  mirrorAfterRead,
  productSnapshot,
  variantSnapshot,
} from '../builders.ts';

const S = 1_000;
const AT = T0 + 60 * S;

const levels = (first: number, second: number) => productSnapshot([variantSnapshot({ 1: first, 2: second })]);
const reasonsOfDrift = (mirror: Mirror): unknown[] =>
  mirror.facts.flatMap((fact) => (fact.kind === 'drift' ? [[fact.warehouseId, fact.reason]] : []));

const requested = (reason: Reason) => (mirror: Mirror) => mirror.requestReads(T0 + 10 * S, reason, [PRODUCT]);
/** A change of 5→4 in this warehouse, after one that was lost. */
const brokenChain = (warehouseId: string) => (mirror: Mirror) =>
  mirror.deliver(T0 + 20 * S, change({ warehouseId, old: 5, new: 4, updateTimeMs: T0 + 20 * S }));

test.each<[reason: string, given: string, before: (mirror: Mirror) => unknown]>([
  ['lost_tail', 'nothing was known', () => undefined],
  ['lost_tail', 'an operator requested the read', requested('operator')],
  ['lost_tail', 'the chain of another warehouse was broken', brokenChain('2')],
  ['conflict', 'a contradiction was known', requested('conflict')],
  [
    'order',
    'a change came too close to the read before',
    (mirror) => mirror.deliver(T0 + S, change({ old: 9, new: 8, updateTimeMs: T0 + S })),
  ],
  [
    'order',
    'two changes of one instant had no certain order',
    (mirror) => {
      mirror.deliver(T0 + 20 * S, change({ old: 9, new: 8, updateTimeMs: T0 + 20 * S }));
      mirror.deliver(T0 + 20 * S, change({ old: 8, new: 9, updateTimeMs: T0 + 20 * S }));
    },
  ],
  [
    'lost_tail',
    'a read has shown it since two changes of one instant',
    (mirror) => {
      mirror.deliver(T0 + 20 * S, change({ old: 9, new: 8, updateTimeMs: T0 + 20 * S }));
      mirror.deliver(T0 + 20 * S, change({ old: 8, new: 9, updateTimeMs: T0 + 20 * S }));
      mirror.read(levels(8, 9), { sentAtMs: T0 + 30 * S });
    },
  ],
  ['lost_tail', 'a change of its total had requested the read', requested('derived')],
  ['conflict', 'a delivery was not understood', requested('dead_letter')],
  [
    'downtime',
    'the product was not read since the barrier',
    (mirror) => mirror.applyInput(missedAt(AT - 9 * S)),
  ],
  ['gap', 'the chain of its warehouse was broken', brokenChain('1')],
])('%s: a read corrected a level, and %s', (reason, _, before) => {
  const mirror = mirrorAfterRead(levels(9, 9));
  before(mirror);
  mirror.read(levels(3, mirror.qty(VARIANT, '2') ?? 0), { sentAtMs: AT });
  expect(reasonsOfDrift(mirror)).toEqual([[WAREHOUSE, reason]]);
  expect(mirror.rows().at(-1)).toMatchObject({ newQty: 3, source: 'read', reason });
});

const total = (availableQty: number, kind: 'own' | 'pulled' | 'bundle', sum = 18): ProductSnapshot =>
  productSnapshot([variantSnapshot(kind === 'own' ? { 1: sum - 9, 2: 9 } : null, { kind, availableQty })]);

test.each<
  [reason: string, given: string, kind: 'own' | 'pulled' | 'bundle', before: (mirror: Mirror) => unknown]
>([
  ['lost_tail', 'nothing was known', 'own', () => undefined],
  ['lost_tail', 'nothing was known of a pulled variant', 'pulled', () => undefined],
  ['derived', 'it is a bundle', 'bundle', () => undefined],
  [
    'derived',
    'it is a bundle, which was not read since the barrier',
    'bundle',
    (mirror) => mirror.applyInput(missedAt(AT - 9 * S)),
  ],
  ['gap', 'the chain of a warehouse was broken', 'own', brokenChain('2')],
])('%s: a read corrected a total alone, and %s', (reason, _, kind, before) => {
  const mirror = mirrorAfterRead(total(20, kind));
  before(mirror);
  mirror.read(total(30, kind), { sentAtMs: AT });
  expect(reasonsOfDrift(mirror)).toContainEqual([null, reason]);
  expect(mirror.rows(VARIANT, null).at(-1)).toMatchObject({ newQty: 30, source: 'read', reason });
});

test.each<[reason: string, given: string, before: (mirror: Mirror) => unknown]>([
  ['first_read', 'was unknown', () => undefined],
  ['first_read', 'was known from a webhook', (mirror) => mirror.deliver(T0, change({ old: 5, new: 4 }))],
  [
    'restored',
    'was removed',
    (mirror) => {
      mirror.read(total(20, 'pulled'), { sentAtMs: T0 });
      mirror.remove(T0 + 10 * S);
    },
  ],
])('%s: a read set the total of a variant that %s, which is no drift', (reason, _, before) => {
  const mirror = new Mirror();
  before(mirror);
  mirror.read(total(30, 'pulled'), { sentAtMs: AT });
  expect(reasonsOfDrift(mirror)).toEqual([]);
  expect(mirror.rows(VARIANT, null).at(-1)).toMatchObject({ oldQty: null, newQty: 30, reason });
});
