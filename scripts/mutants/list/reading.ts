/** How the service is read (docs/architecture.md#reading-the-store). */
import type { Mutant } from '../mutant.ts';

const sweep = 'src/reconcile/sweep.ts';

export const READING: readonly Mutant[] = [
  {
    id: 'sweep-without-overlap',
    breaks: 'pages of the list overlap (docs/architecture.md#reading-the-store, sweep)',
    file: sweep,
    find: 'offset + (canOverlap ? ids.length - 1 : 1);',
    replace: 'offset + ids.length;',
    first: 'simulation',
    tests: ['test/reconcile/sweep.test.ts'],
  },
  {
    id: 'sweep-never-steps-back',
    breaks: "a page without the last page's ids steps back (docs/architecture.md#reading-the-store, sweep)",
    file: sweep,
    find: '    if (offset > 0 && before.size > 0 && !ids.some((id) => before.has(id))) {',
    replace: '    if (offset < 0) {',
    first: 'simulation',
    tests: ['test/reconcile/sweep.test.ts'],
  },
  {
    id: 'sweep-checkpoint-too-far',
    breaks:
      'a killed sweep goes on no further than what is on record (docs/architecture.md#reading-the-store, sweep)',
    file: sweep,
    find: '      listOffset: nextOffset,',
    replace: '      listOffset: nextOffset + ids.length,',
    first: 'simulation',
    tests: ['test/reconcile/sweep.test.ts'],
  },
  {
    id: 'sweep-product-not-recorded',
    breaks: 'a product that only the list shows is read (docs/architecture.md#reading-the-store, sweep)',
    file: sweep,
    find: '    await recordListed(deps, ids);',
    replace: '    await recordListed(deps, ids.slice(1));',
    first: 'simulation',
    tests: ['test/reconcile/sweep.test.ts'],
  },
  {
    id: 'token-requested-by-each',
    breaks: 'one token request is in flight (docs/architecture.md#reading-the-store, token)',
    file: 'src/service/token.ts',
    find: '    flight ??= refresh().finally(() => {',
    replace: '    flight = refresh().finally(() => {',
    first: 'simulation',
  },
  {
    id: 'latch-ignored',
    breaks: 'refused credentials are not tried again (docs/architecture.md#reading-the-store, token)',
    file: 'src/service/token.ts',
    find: '    if (latch !== null) {\n      if (!isLatchInFile)',
    replace: "    if (latch !== null && latch.description === '') {\n      if (!isLatchInFile)",
    first: 'simulation',
    tests: ['test/service/token.test.ts'],
  },
  {
    id: 'latch-forgotten-at-start',
    breaks:
      'refused credentials are not tried again after a restart (docs/architecture.md#reading-the-store, token)',
    file: 'src/service/token.ts',
    find: '    if (isLatchInFile) latch = state.latch;',
    replace: '    if (isLatchInFile && latch !== null) latch = state.latch;',
    first: 'simulation',
    tests: ['test/service/token.test.ts'],
  },
  {
    id: 'fair-share-off',
    breaks:
      'a fifth of the reads goes to the product read longest ago (docs/architecture.md#reading-the-store, queue)',
    file: 'src/reconcile/due-ahead.ts',
    find: '    if (this.#sinceFair < FAIR_SHARE) return null;',
    replace: '    if (this.#sinceFair < 1e6 * FAIR_SHARE) return null;',
    first: 'simulation',
    tests: ['test/reconcile/read-queue.test.ts'],
  },
  {
    id: 'read-s0-too-late',
    breaks: 's0 is the log position when the request was sent (docs/architecture.md#merge-rules, "A read")',
    file: 'src/reconcile/product-reader.ts',
    find: `  const s0 = store.writer.lastSeq;
  const answer = await client.productDetail(productId, options);`,
    replace: `  const answer = await client.productDetail(productId, options);
  const s0 = store.writer.lastSeq;`,
    tests: ['test/reconcile/read-queue.test.ts'],
  },
  {
    id: 'failed-read-given-up',
    breaks: 'a read that failed is tried again (docs/architecture.md#reading-the-store, queue)',
    file: 'src/reconcile/product-reader.ts',
    find: "  const parked = kind === 'rejected';",
    replace: "  const parked = kind !== 'contract';",
    tests: ['test/reconcile/read-queue.test.ts'],
  },
  {
    id: 'refusal-not-parked',
    breaks: 'what the service refuses is parked (docs/architecture.md#reading-the-store, queue)',
    file: 'src/reconcile/product-reader.ts',
    find: "  const parked = kind === 'rejected';",
    replace: '  const parked = false;',
    first: 'simulation',
    tests: ['test/reconcile/read-queue.test.ts'],
  },
];
