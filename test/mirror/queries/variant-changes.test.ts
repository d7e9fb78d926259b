/** A variant's changes, gathered from the shares of the index, are those that the feed has. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changesBefore, changesFrom, type Found } from '../../../src/mirror/queries/variant-changes.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { SHARE_BITS } from '../../../src/mirror/file/shares.ts';
import { T0, writerDb } from '../mirror-file.ts';

const SHARE = 2 ** SHARE_BITS;

interface Row {
  readonly seq: number;
}

function fill(db: Db, rows: readonly { readonly seq: number; readonly variantId: string }[]): void {
  const insert = db.prepare(
    `INSERT INTO changes (seq, inbox_seq, variant_id, source, recorded_at_ms) VALUES (?, 1, ?, 'webhook', ${T0})`,
  );
  db.transaction(() => {
    db.exec('DELETE FROM changes');
    for (const { seq, variantId } of rows) insert.run(seq, variantId);
  })();
}

const seqs = (found: Iterable<Found<Row>>): (number | 'more')[] =>
  Array.from(found, (one) => (one.kind === 'row' ? one.row.seq : 'more'));

const anySeq = fc.oneof(
  fc.integer({ min: 1, max: 4 * SHARE }),
  // Where shares meet.
  fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: -2, max: 2 })).map(([n, d]) => n * SHARE + d),
);

test('in both directions, from anywhere', () => {
  const db = writerDb();
  const asked = { variantId: 'a', columns: 'seq' };
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.record({ seq: anySeq, variantId: fc.constantFrom('a', 'b') }), {
        selector: ({ seq }) => seq,
        maxLength: 30,
      }),
      fc.oneof(anySeq, fc.constant(0), fc.constant(Number.MAX_SAFE_INTEGER)),
      (rows, seq) => {
        fill(db, rows);
        const own = rows
          .filter(({ variantId }) => variantId === 'a')
          .map((row) => row.seq)
          .sort((a, b) => a - b);
        expect(seqs(changesFrom<Row>(db, { ...asked, fromSeq: seq }))).toEqual(
          own.filter((one) => one >= seq),
        );
        expect(seqs(changesBefore<Row>(db, { ...asked, beforeSeq: seq }))).toEqual(
          own.filter((one) => one < seq).reverse(),
        );
      },
    ),
    { numRuns: 300 },
  );
});

test('no further than asked, which is reported', () => {
  const db = writerDb();
  fill(db, [
    { seq: 5, variantId: 'a' },
    { seq: SHARE + 5, variantId: 'b' },
    { seq: 3 * SHARE + 5, variantId: 'a' },
  ]);
  const asked = { variantId: 'a', columns: 'seq', shares: 2 };
  expect(seqs(changesFrom<Row>(db, { ...asked, fromSeq: 1 }))).toEqual([5, 'more']);
  expect(seqs(changesFrom<Row>(db, { ...asked, fromSeq: 2 * SHARE }))).toEqual([3 * SHARE + 5]);
  expect(seqs(changesBefore<Row>(db, { ...asked, beforeSeq: 4 * SHARE }))).toEqual([3 * SHARE + 5, 'more']);
  expect(seqs(changesBefore<Row>(db, { ...asked, beforeSeq: 2 * SHARE }))).toEqual([5]);
});
