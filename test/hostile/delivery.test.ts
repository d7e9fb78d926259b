/** Authentic bodies with any content are read without harm and merged into a real mirror. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDelivery } from '../../src/store-api/delivery.ts';
import { detail, DirectWriter, T0 } from '../mirror/mirror-file.ts';
import { dump } from '../mirror/projected.ts';
import { anyBody, anyItem, envelope } from './bodies.ts';
import { checkDelivery } from './delivery-properties.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A store that knows variants 100 and 101. */
function knowing(): DirectWriter {
  const writer = new DirectWriter();
  writer.db.pragma('synchronous = OFF');
  const tea = detail('10', [
    { id: '100', levels: { 1: 5 } },
    { id: '101', levels: null, total: 3 },
  ]);
  writer.read('10', tea, T0 - 60_000);
  return writer;
}

/** Merged as it is, not put aside because the rules failed on it. */
function merge(writer: DirectWriter, body: Uint8Array, atMs: number): void {
  const { facts } = writer.deliver(body, atMs);
  expect(
    facts.filter((fact) => fact.kind === 'dead_letter' && fact.problem.startsWith('not merged')),
  ).toEqual([]);
}

const GOOD = `{"id":"100","sku":"S","old":5,"new":4,"warehouse_id":"1","update_time":${T0},"reason":"order_reserved"}`;
const good = (over: string): string => `${GOOD.slice(0, -1)},${over}}`;
const LARGEST = Number.MAX_SAFE_INTEGER;

/** The size limits of a body, and values at the limits of the database and the rules. */
const HARD: Readonly<Record<string, string>> = {
  'an item as deep as a body may be long': envelope([
    `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`,
    GOOD,
  ]),
  'the longest list of items without an id': envelope([`0${',0'.repeat(499_999)}`, GOOD]),
  '5,000 items that name only their variant': envelope([...Array<string>(5_000).fill('{"id":"100"}'), GOOD]),
  '3,000 changes of one level': envelope(Array<string>(3_000).fill(GOOD)),
  'the largest quantities and their differences': envelope([
    good(`"old":${-LARGEST},"new":${LARGEST}`),
    good(`"old":${LARGEST},"new":${-LARGEST},"update_time":${T0 + 1}`),
    good(`"id":"101","old":${-LARGEST},"new":${LARGEST}`),
  ]),
  'the latest time there is': envelope([
    good(`"update_time":${LARGEST}`),
    good('"old":4,"new":3,"update_time":8640000000000000'),
  ]),
  'an id of 100,000 digits': envelope([
    good(`"id":"${'9'.repeat(100_000)}","warehouse_id":"${'8'.repeat(100_000)}"`),
  ]),
  'control characters and direction marks': envelope([
    good('"sku":"\\u0000\\u001b[2J\\u202e\\u2028","reason":"\\r\\n\\u0007"'),
  ]),
  'an event name of 33,000 half surrogate pairs': `{"event_type":"${'\\ud83d'.repeat(33_000)}","data":{}}`,
  'a request id of half a megabyte': envelope([GOOD], 'r'.repeat(500_000)),
};

test('reads and merges bodies at the limits, one by one as in one transaction', () => {
  const writer = knowing();
  for (const [n, [name, text]] of Object.entries(HARD).entries()) {
    try {
      checkDelivery(bytes(text));
      merge(writer, bytes(text), T0 + n);
    } catch (error) {
      throw new Error(name, { cause: error });
    }
  }
  const together = knowing();
  together.commit(
    ...Object.values(HARD).map((text, n) => ({
      kind: 'delivery' as const,
      isTest: false,
      body: bytes(text),
      arrivedAtMs: T0 + n,
    })),
  );
  expect(dump(together.db)).toBe(dump(writer.db));
});

test('reads and merges any body', () => {
  const writer = knowing();
  let atMs = T0;
  fc.assert(
    fc.property(anyBody, (body) => {
      checkDelivery(body);
      merge(writer, body, (atMs += 7));
    }),
    { numRuns: 500 },
  );
});

test('reads an item the same alone and among others', () => {
  fc.assert(
    fc.property(fc.array(anyItem, { maxLength: 8 }), (items) => {
      const together = parseDelivery(bytes(envelope(items)));
      const alone = items.map((item) => parseDelivery(bytes(envelope([item]))));
      expect(together.changes).toEqual(alone.flatMap(({ changes }) => changes));
      expect(
        together.unreadable.map(({ variantId, problem }) => [
          variantId,
          problem.replace(/^data\.items\[\d+\]/, ''),
        ]),
      ).toEqual(
        alone.flatMap(({ unreadable }) =>
          unreadable.map(({ variantId, problem }) => [variantId, problem.replace(/^data\.items\[\d+\]/, '')]),
        ),
      );
      expect(together.unreadable.map(({ itemIndex }) => itemIndex)).toEqual(
        alone.flatMap(({ unreadable }, index) => unreadable.map(() => index)),
      );
    }),
    { numRuns: 250 },
  );
});
