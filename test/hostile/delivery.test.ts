/** Whatever an authentic body says, it is read without harm and merged into the real mirror. */
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDelivery } from '../../src/store-api/delivery.ts';
import { detail, DirectWriter, T0 } from '../mirror/mirror-file.ts';
import { dump } from '../mirror/projected.ts';
import { anyBody, anyItem, envelope } from './bodies.ts';
import { corpusBody, type CorpusEntry } from './corpus.ts';
import { checkDelivery } from './delivery-properties.ts';

const CORPUS = new URL('corpus/', import.meta.url);
const entries = readdirSync(CORPUS)
  .filter((name) => name.endsWith('.json'))
  .flatMap((name) => JSON.parse(readFileSync(new URL(name, CORPUS), 'utf8')) as CorpusEntry[]);

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A store that knows variants 100 and 101. */
function knowing(): DirectWriter {
  const writer = new DirectWriter();
  // What is tested here is not the disk.
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

test('every body of the corpus is read without harm and merged, alone as in one transaction', () => {
  const writer = knowing();
  for (const [n, entry] of entries.entries()) {
    const body = corpusBody(entry);
    try {
      checkDelivery(body);
      merge(writer, body, T0 + n);
    } catch (error) {
      throw new Error(entry.name, { cause: error });
    }
  }
  const together = knowing();
  together.commit(
    ...entries.map((entry, n) => ({
      kind: 'delivery' as const,
      body: corpusBody(entry),
      arrivedAtMs: T0 + n,
    })),
  );
  expect(dump(together.db)).toBe(dump(writer.db));
});

test('any body is read without harm and merged', () => {
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

test('an item is understood as it would be alone, whatever stands beside it', () => {
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

describe('a large body is read in a time that so much JSON may take:', () => {
  const HALF_MEGABYTE = 1 << 19;
  const filled = (item: string): string =>
    envelope(Array<string>(Math.floor(HALF_MEGABYTE / (item.length + 1)) - 10).fill(item));
  /** Of the processor, not of the wall clock: the machine has other things to do. */
  function cpuMs(work: () => void): number {
    const begun = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / 1_000;
  }

  test.each<[string, string]>([
    ['valid items', filled('{"id":"1","old":1,"new":2,"warehouse_id":"1","update_time":1790000000000}')],
    ['items that only name a variant', filled('{"id":"1"}')],
    ['items that name nobody', filled('{}')],
    ['numbers', filled('1')],
    [
      'one item of many keys',
      envelope([`{${Array.from({ length: 40_000 }, (_, n) => `"k${n}":1`).join(',')}}`]),
    ],
    ['one key given again and again', envelope([`{${Array<string>(50_000).fill('"id":"1"').join(',')}}`])],
    ['one deep item', envelope(['['.repeat(250_000) + ']'.repeat(250_000)])],
    ['one long text', envelope([`{"id":"1","sku":"${'x'.repeat(500_000)}"}`])],
    ['NUL', envelope([`{"id":"1","sku":"${'\\u0000'.repeat(85_000)}"}`])],
    ['half surrogate pairs', envelope([`{"id":"1","sku":"${'\\ud800'.repeat(85_000)}","reason":"x"}`])],
  ])('%s', (_name, text) => {
    const body = bytes(text);
    const jsonMs = cpuMs(() => void JSON.parse(new TextDecoder().decode(body)));
    const oursMs = cpuMs(() => void parseDelivery(body));
    // Each item is checked field by field, and what is wrong with it is told: up to some 80 times the time of JSON.parse.
    expect(oursMs).toBeLessThan(Math.max(150, 250 * jsonMs));
  });
});
