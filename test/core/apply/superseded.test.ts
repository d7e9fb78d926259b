/** Answers merged after the answer to a read that was sent later (docs/architecture.md#reads). */
import { describe, expect, test } from 'vitest';
import {
  T0,
  VARIANT,
  branches,
  mirrorAfterRead,
  productSnapshot,
  single,
  variantSnapshot,
  type Mirror,
} from '../builders.ts';

const S = 1_000;
const AT = T0 + 60 * S;
/** Sent before the latest read, received after it. */
const OLDER = { sentAtMs: AT - S, receivedAtMs: AT + S };

function mirrorReadAt(atMs: number, snapshot = single(5)): Mirror {
  const mirror = mirrorAfterRead(snapshot);
  mirror.read(snapshot, { sentAtMs: atMs });
  return mirror;
}

describe('a 404', () => {
  test.each([
    ['less than 2 s before the latest read was sent, asks for a read', AT - 2 * S + 1, 'conflict'],
    ['2 s before the latest read was sent, asks for nothing', AT - 2 * S, null],
  ])('received %s', (_, receivedAtMs, reason) => {
    const mirror = mirrorReadAt(AT);
    mirror.read(null, { sentAtMs: AT - 9 * S, receivedAtMs });
    expect(mirror.reason()).toBe(reason);
    expect(mirror.tables.product('10')).toMatchObject({ missingAtMs: null, readAtMs: AT });
  });

  test('asks for nothing if the product is removed', () => {
    const mirror = mirrorAfterRead();
    mirror.remove(AT - 30 * S);
    mirror.read(null, OLDER);
    expect(mirror.reason()).toBeNull();
  });

  test('asks for a read that is sent 2 s after both answers', () => {
    const mirror = mirrorAfterRead();
    mirror.read(single(5), { sentAtMs: AT, receivedAtMs: AT + 10 * S });
    mirror.read(null, OLDER);
    expect(mirror.tables.readRequest('10')).toMatchObject({
      madeAtMs: AT + 10 * S,
      notBeforeMs: AT + 12 * S,
    });
  });
});

test.each([
  ['warehouse', productSnapshot([variantSnapshot({ 1: 5, 2: 6 })]), VARIANT, '2'],
  [
    'variant',
    productSnapshot([variantSnapshot({ 1: 5 }), variantSnapshot({ 1: 7 }, { variantId: '101' })]),
    '101',
    '1',
  ],
])('an answer does not create a %s that the latest one lacks, and asks for a read', (...row) => {
  const [, older, variantId, warehouseId] = row;
  const mirror = mirrorReadAt(AT);
  const facts = mirror.read(older, OLDER);
  expect(branches(facts)).toContain('concurrent, agrees');
  expect(mirror.tables.stockLevel(variantId, warehouseId)).toBeUndefined();
  expect([mirror.total(), mirror.reason()]).toEqual([5, 'conflict']);
});

test('an answer to a read sent at the same instant as the latest is not superseded', () => {
  const mirror = mirrorReadAt(AT);
  mirror.read({ ...single(6), name: 'New' }, { sentAtMs: AT, receivedAtMs: AT + S });
  expect(mirror.tables.product('10')?.name).toBe('New');
  expect([mirror.qty(), mirror.reason()]).toEqual([6, 'conflict']);
});
