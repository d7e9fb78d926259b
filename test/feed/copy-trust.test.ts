import { expect, test } from 'vitest';
import { CopyTrust } from '../../src/feed/copy-trust.ts';
import { row, TRUST } from './fake-mirror.ts';

const GAP = { trusted: 0, why_not: 'gap' };

test('waits until the copy has the changes that the trust is about, and is given once', () => {
  const trust = new CopyTrust();
  expect(trust.take(9)).toBeNull();
  trust.received({ ...TRUST, last_seq: 4 });
  expect(trust.take(3)).toBeNull();
  expect(trust.take(4)).toEqual({ state: 'live', cause: null, as_of: 1, untrusted: [], untrusted_count: 0 });
  expect(trust.take(4)).toBeNull();
});

test('a row keeps the doubt, or the trust, with which it was read after the trust was computed', () => {
  const trust = new CopyTrust();
  const untrusted = [
    { variant_id: '8', warehouse_id: '1', why_not: 'gap' },
    { variant_id: '9', warehouse_id: '1', why_not: 'conflict' },
  ];
  trust.copied([row('7', GAP), row('8')], [], 20);
  trust.received({ ...TRUST, as_of: 19, untrusted, untrusted_count: 2 });
  expect(trust.take(1)).toMatchObject({
    untrusted: [
      { variant_id: '9', why_not: 'conflict' },
      { variant_id: '7', warehouse_id: '1', why_not: 'gap' },
    ],
    untrusted_count: 2,
  });
  trust.received({ ...TRUST, as_of: 20 });
  expect(trust.take(1)).toMatchObject({ untrusted: [], untrusted_count: 0 });
});

test('a row that was removed is not listed', () => {
  const trust = new CopyTrust();
  trust.copied([row('7', GAP)], [], 20);
  trust.copied([], [row('7')], 21);
  trust.received({ ...TRUST, as_of: 19 });
  expect(trust.take(1)).toMatchObject({ untrusted: [] });
});

test('trusts no row while the mirror says so, whatever was read later', () => {
  const trust = new CopyTrust();
  trust.copied([row('7')], [], 20);
  trust.received({ ...TRUST, state: 'stale', cause: 'starting', as_of: 19, untrusted: null });
  expect(trust.take(1)).toMatchObject({ state: 'stale', untrusted: null });
});

test('forgets a trust that waits when the connection is lost', () => {
  const trust = new CopyTrust();
  trust.received({ ...TRUST, last_seq: 4 });
  trust.lost();
  expect(trust.take(4)).toBeNull();
});
