/** Whatever an authentic body says, it is read without harm, merged into the real store, and applied again to the same. */
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDelivery } from '../../src/store-api/delivery.ts';
import { detail, DirectWriter, T0, writerDb } from '../mirror/mirror-file.ts';
import { dump, replay } from '../mirror/replay.ts';
import { anyBody, anyItem, envelope } from './bodies.ts';
import { checkDelivery } from './delivery-properties.ts';

/** Bodies kept because they once taught something. Small as files, large where they must be. */
interface CorpusEntry {
  /** What it is, in a few words. */
  readonly name: string;
  /** Parts of the body, in order: text, text repeated, or bytes. */
  readonly parts: readonly (
    string | { readonly repeat: string; readonly times: number } | { readonly base64: string }
  )[];
}

function corpusBody({ parts }: CorpusEntry): Uint8Array {
  return Buffer.concat(
    parts.map((part) => {
      if (typeof part === 'string') return Buffer.from(part);
      return 'base64' in part
        ? Buffer.from(part.base64, 'base64')
        : Buffer.from(part.repeat.repeat(part.times));
    }),
  );
}

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
    facts.filter((fact) => fact.kind === 'quarantined' && fact.problem.startsWith('not merged')),
  ).toEqual([]);
}

test('every body of the corpus is read without harm, merged, and applied again to the same', () => {
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
  expect(dump(replay(writer.db, writerDb()))).toBe(dump(writer.db));
});

test('any body is read without harm, merged, and the log applied again gives the same tables', () => {
  const writer = knowing();
  let atMs = T0;
  fc.assert(
    fc.property(anyBody, (body) => {
      checkDelivery(body);
      merge(writer, body, (atMs += 7));
    }),
    { numRuns: 500 },
  );
  expect(dump(replay(writer.db, writerDb()))).toBe(dump(writer.db));
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
