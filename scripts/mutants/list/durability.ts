/**
 * The log, its commits, and what is answered (docs/http-api.md#public-listener,
 * docs/architecture.md#durability).
 */
import type { Mutant } from '../mutant.ts';

export const DURABILITY: readonly Mutant[] = [
  {
    id: 'answer-before-commit',
    breaks:
      'a delivery is answered 204 only once it is committed (docs/architecture.md#promises, docs/http-api.md#public-listener)',
    file: 'src/intake/accept-delivery.ts',
    find: `    const late = deps.deadlines.after(deadlineMs, () => resolve('not_stored'));`,
    replace: `    const late = deps.deadlines.after(deadlineMs, () => resolve('not_stored'));\n    resolve('committed');`,
    first: 'simulation',
  },
  {
    id: 'answer-told-before-commit',
    breaks: 'the writer tells what it took only once it is committed (docs/architecture.md#durability)',
    file: 'src/store/write-loop.ts',
    find: `    const results = writer.commit(waiting.map(({ input }) => input));`,
    replace: `    const taken: Result = { ok: true, value: { seq: writer.lastSeq, duplicate: false, facts: [] } };\n    const results = waiting.map(() => taken);\n    setImmediate(() => writer.commit(waiting.map(({ input }) => input)));`,
    first: 'simulation',
  },
  {
    id: 'unstored-forgotten',
    breaks: 'what a delivery answered 503 was about is read (docs/architecture.md#durability)',
    file: 'src/intake/accept-delivery.ts',
    find: `        deps.unstored.note(body, error instanceof Error ? error : new Error(String(error)));`,
    replace: `        void error;`,
    tests: ['test/intake/trouble.test.ts'],
  },
  {
    id: 'unstored-dropped-on-retry',
    breaks: 'what could not be recorded is kept for the next attempt (docs/architecture.md#durability)',
    file: 'src/intake/unstored.ts',
    find: '      for (const id of sent) variantIds.add(id);\n      throw error;',
    replace: '      throw error;',
    tests: ['test/intake/trouble.test.ts'],
  },
  {
    id: 'not-stored-no-obligation',
    breaks: 'variants of unstored deliveries are obliged (docs/architecture.md#durability)',
    file: 'src/core/fold.ts',
    find: '    ledger.tables.putVariant(ledger.obligeVariant(variant, entry.reason));',
    replace: '    ledger.tables.putVariant(variant);',
    tests: ['test/store/suspicion.test.ts', 'test/core/fold-unmapped.test.ts'],
  },
  {
    id: 'bodies-not-deduplicated',
    breaks: 'the same body again is not merged again (docs/architecture.md#deduplication)',
    file: 'src/store/writer.ts',
    find: 'if (duplicate) return { seq, duplicate, facts: [] };',
    replace: 'if (duplicate && seq < 0) return { seq, duplicate, facts: [] };',
    tests: ['test/store/log.test.ts'],
  },
  {
    id: 'bodies-deduplicated-by-length',
    breaks: 'only the same body is a repeat (docs/architecture.md#deduplication)',
    file: 'src/store/log.ts',
    find: `const key = hash('sha256', body, 'buffer').subarray(0, 16);`,
    replace: `const key = hash('sha256', String(body.byteLength), 'buffer').subarray(0, 16);`,
    first: 'simulation',
    tests: ['test/store/log.test.ts'],
  },
  {
    id: 'log-seq-gap',
    breaks: 'the log has no gap, not even after a rollback (docs/architecture.md#data-flow)',
    file: 'src/store/log.ts',
    find: `  reload(): void {
    this.#lastSeq = this.#readLastSeq();`,
    replace: `  reload(): void {
    void this.#readLastSeq;`,
    first: 'simulation',
  },
  {
    id: 'rows-kept-after-rollback',
    breaks: 'after a rollback the rules go on from what is on disk (docs/architecture.md#durability)',
    file: 'src/store/sqlite-tables.ts',
    find: '    this.#cache.clear();',
    replace: '    void this.#cache;',
    tests: ['test/store/writer.test.ts'],
  },
  {
    id: 'rows-kept-beside-anothers-writes',
    breaks:
      'the rules go on from what is on disk, also when another program has written it (docs/architecture.md#durability)',
    file: 'src/store/writer.ts',
    find: 'version !== this.#knownVersion',
    replace: 'version === undefined',
    tests: ['test/store/writer.test.ts'],
  },
  {
    id: 'state-kept-after-rollback',
    breaks: 'after a rollback the rules go on from what is on disk (docs/architecture.md#durability)',
    file: 'src/store/sqlite-tables.ts',
    find: `    this.#product = null;\n    this.#state = this.#readState();`,
    replace: `    this.#product = null;\n    void this.#readState;`,
    first: 'simulation',
    tests: ['test/store/writer.test.ts', 'test/store/log.test.ts'],
  },
  {
    id: 'state-not-written',
    breaks:
      'the tables are the projection of the event log, the state included (docs/architecture.md#data-flow)',
    file: 'src/store/sqlite-tables.ts',
    find: '    this.#sql.putState.run({ ...this.#state, id: 1 });\n    this.#stateIsWritten = true;',
    replace: '    this.#stateIsWritten = true;',
    first: 'simulation',
  },
  {
    id: 'unchanged-detail-lost',
    breaks: 'a read in the log is the read that was merged (docs/architecture.md#data-flow)',
    file: 'src/store/log.ts',
    find: "  if (snapshot.detailJson === knownDetailJson) return { ...rest, detail: 'unchanged' };",
    replace: "  if (knownDetailJson !== null) return { ...rest, detail: 'unchanged' };",
    first: 'simulation',
  },
  {
    id: 'late-answer',
    breaks: 'what is not committed within 800 ms is answered 503 (docs/http-api.md#public-listener)',
    file: 'src/intake/accept-delivery.ts',
    find: 'export const COMMIT_DEADLINE_MS = 800;',
    replace: 'export const COMMIT_DEADLINE_MS = 8_000;',
    first: 'simulation',
    tests: ['test/intake/trouble.test.ts'],
  },
];
