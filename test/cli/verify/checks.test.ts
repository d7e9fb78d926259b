import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { describe as describeVerdict, isEqual } from '../../../src/cli/verify.ts';
import { checkAll } from '../../../src/cli/verify/check-all.ts';
import { GiveUp } from '../../../src/cli/verify/give-up.ts';
import { compare, keyOf, rowsIn, type Row, type Rows } from '../../../src/cli/verify/compare.ts';
import { commandsOf } from '../../../src/platform/own-command.ts';
import { productDetailSchema } from '../../../src/store-api/contract/schemas.ts';
import { snapshotOf } from '../../../src/store-api/snapshot.ts';
import { ServiceError } from '../../../src/store-api/transport/errors.ts';
import { detail, DirectWriter, T0, type VariantDetail } from '../../mirror/mirror-file.ts';
import { virtualTime } from '../../shared/virtual-time.ts';

const answerOf = (...variants: VariantDetail[]) =>
  snapshotOf(productDetailSchema.parse(detail('10', variants)), '');

type Held = readonly [
  what: Row['what'],
  variant: string | null,
  warehouse: string | null,
  qty: number | null,
];

function holding(held: readonly Held[], change_seq = 1): Rows {
  const rows = [['product', null, null, null] as const, ...held].map(
    ([what, variant_id, warehouse_id, qty]): Row => ({
      what,
      variant_id,
      warehouse_id,
      qty,
      change_seq,
      sku: null,
      is_settling: 0,
      suspect: 0,
      as_of: 1,
      verified_at: null,
    }),
  );
  return new Map(rows.map((row) => [keyOf(row), row]));
}

const one = (qty: number, changeSeq = 1) =>
  holding(
    [
      ['total', '100', null, qty],
      ['level', '100', '1', qty],
    ],
    changeSeq,
  );
const NONE: Rows = new Map();

test('reads the values of a product in the mirror', () => {
  const writer = new DirectWriter();
  writer.read('10', detail('10', [{ id: '100', levels: { 1: 5 }, total: 7 }]), T0);
  const none = {
    variant_id: null,
    warehouse_id: null,
    qty: null,
    is_settling: 0,
    sku: null,
    change_seq: null,
    suspect: null,
    as_of: null,
    verified_at: null,
  };
  const shown = {
    variant_id: '100',
    sku: 'S-100',
    suspect: 0,
    as_of: T0,
    verified_at: T0,
    change_seq: expect.any(Number),
  };
  expect([...rowsIn(writer.db)('10').values()]).toEqual([
    { ...none, what: 'product' },
    { ...none, ...shown, what: 'total', qty: 7 },
    { ...none, ...shown, what: 'level', warehouse_id: '1', qty: 5 },
  ]);
});

describe('compare', () => {
  const differing = (before: Rows, answer: ReturnType<typeof answerOf> | null, after: Rows) =>
    compare('10', { before, answer, after }).differences.map(({ value, fingerprint }) => ({
      what: value.what,
      mirror: value.mirror,
      service: value.service,
      only_in: value.only_in,
      isStill: fingerprint !== null,
    }));

  test('counts what is equal', () => {
    const reading = { before: one(5), answer: answerOf({ id: '100', levels: { 1: 5 } }), after: one(5) };
    expect(compare('10', reading)).toEqual({ totals: 1, levels: 1, differences: [] });
  });

  test('finds a difference around which the mirror did not move', () => {
    const differs = { mirror: 5, service: 4, only_in: null, isStill: true };
    expect(differing(one(5), answerOf({ id: '100', levels: { 1: 4 } }), one(5))).toEqual([
      { what: 'total', ...differs },
      { what: 'level', ...differs },
    ]);
  });

  test('allows for a mirror that moved before or after the store answered', () => {
    const answer = answerOf({ id: '100', levels: { 1: 4 } });
    expect(differing(one(5), answer, one(4, 2))).toEqual([]);
    expect(differing(one(4), answer, one(3, 2))).toEqual([]);
    const moved = [{ isStill: false }, { isStill: false }];
    expect(differing(one(6), answer, one(5, 2))).toMatchObject(moved);
    expect(differing(one(5), answer, one(5, 3))).toMatchObject(moved);
  });

  test('finds variants and warehouses that one side does not have', () => {
    const answer = answerOf({ id: '100', levels: { 2: 5 } }, { id: '101', levels: { 1: 3 } });
    const isStill = true;
    expect(differing(one(5), answer, one(5))).toEqual([
      { what: 'level', mirror: null, service: 5, only_in: 'service', isStill },
      { what: 'total', mirror: null, service: 3, only_in: 'service', isStill },
      { what: 'level', mirror: 5, service: null, only_in: 'mirror', isStill },
    ]);
    expect(differing(one(5), answerOf({ id: '102', levels: { 1: 0 } }), one(5))).toMatchObject([
      { what: 'total', only_in: 'service' },
      { what: 'total', only_in: 'mirror' },
    ]);
  });

  test('finds a product that one side does not have, as one difference', () => {
    const answer = answerOf({ id: '100', levels: { 1: 5 } });
    expect(differing(one(5), null, one(5))).toMatchObject([
      { what: 'product', only_in: 'mirror', isStill: true },
    ]);
    expect(differing(NONE, answer, NONE)).toMatchObject([
      { what: 'product', only_in: 'service', isStill: true },
    ]);
    expect(differing(one(5), null, NONE)).toEqual([]);
    expect(differing(NONE, null, NONE)).toEqual([]);
  });
});

/**
 * @param valuesAt at each check, the mirror's `change_seq` and quantity, and the store's quantities of variants 7
 * and 8.
 */
async function verdictOf(valuesAt: (check: number) => readonly [held: number, seven: number, eight: number]) {
  let checks = 0;
  const { pass } = virtualTime();
  const checking = checkAll(
    {
      read: () => {
        const [held, seven, eight] = valuesAt(++checks);
        const rows = holding(
          [
            ['total', '7', null, held],
            ['total', '8', null, held],
          ],
          held,
        );
        const answer = answerOf(
          { id: '7', levels: null, total: seven },
          { id: '8', levels: null, total: eight },
        );
        return Promise.resolve({ before: rows, answer, after: rows });
      },
      concurrency: 1,
      isNamed: false,
      onProgress: () => undefined,
      signal: new AbortController().signal,
    },
    ['10'],
  );
  await pass(60_000);
  return { checks, verdict: await checking };
}

describe('checkAll', () => {
  test('proves a difference by two equal checks', async () => {
    const { checks, verdict } = await verdictOf(() => [5, 5, 4]);
    expect(checks).toBe(2);
    expect(verdict).toMatchObject({ undecided: [], drift: [{ variant_id: '8', mirror: 5, service: 4 }] });
  });

  test.each<[what: string, valuesAt: Parameters<typeof verdictOf>[0]]>([
    ['the store moves', (check) => [5, 5, 5 + check]],
    ['the mirror moves', (check) => [check, check, 9]],
    ['both move with a steady offset', (check) => [check, check, check + 5]],
  ])('leaves a difference undecided after six checks if %s', async (_, valuesAt) => {
    const { checks, verdict } = await verdictOf(valuesAt);
    expect(checks).toBe(6);
    expect(verdict).toMatchObject({ drift: [], unread: [], undecided: [{ variant_id: '8' }] });
    expect(isEqual(verdict)).toBe(false);
  });

  test('counts a moving value as equal once it was equal', async () => {
    const { verdict } = await verdictOf((check) => [check, check + (check === 3 ? 0 : 5), check + 5]);
    expect(verdict).toMatchObject({ drift: [], undecided: [{ variant_id: '8' }] });
  });
});

test.each([
  { held: [], says: [/deleted in the store: a second read/], not: [/mass-removal guard/] },
  {
    held: ['10'],
    says: [
      /holds back 1 removal until you decide: stock-mirror-run shop resync --allow-removals/,
      /deleted in the store/,
    ],
    not: [],
  },
  { held: ['10', '11'], says: [/holds back 2 removals/], not: [/deleted in the store/] },
])('says of $held.length removals that the guard holds them', ({ held, says, not }) => {
  const gone = (productId: string) => ({
    what: 'product' as const,
    product_id: productId,
    variant_id: null,
    warehouse_id: null,
    sku: null,
    mirror: null,
    service: null,
    only_in: 'mirror' as const,
    suspect: null,
    as_of: null,
    verified_at: null,
  });
  const verdict = {
    products: 2,
    totals: 0,
    levels: 0,
    drift: ['10', '11'].map(gone),
    undecided: [],
    unread: [],
  };
  const text = describeVerdict(verdict, {
    names: new Map(),
    held: new Set(held),
    commandOf: commandsOf('stock-mirror-run shop'),
  });
  for (const pattern of says) expect(text).toMatch(pattern);
  for (const pattern of not) expect(text).not.toMatch(pattern);
});

test('gives up after 30 s without an answer, and not while the store refuses or asks for a pause', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const given: string[] = [];
  const giveUp = new GiveUp((error) => given.push(error.message));
  const fails = (kind: 'unavailable' | 'rate_limited') =>
    giveUp
      .watch(() =>
        Promise.reject(new ServiceError({ kind, endpoint: '/v1/product/detail', description: 'no answer' })),
      )
      .catch(() => undefined);
  await fails('unavailable');
  vi.advanceTimersByTime(29_000);
  await fails('rate_limited');
  vi.advanceTimersByTime(29_000);
  expect(given).toEqual([]);
  await fails('unavailable');
  vi.advanceTimersByTime(15_000);
  await fails('unavailable');
  vi.advanceTimersByTime(15_000);
  expect(given).toEqual(['no verdict: the store could not be read for 30 s (/v1/product/detail: no answer)']);
});
