/** The log, its commits, and what is answered (DESIGN §5, §10). */
import type { Mutant } from '../mutant.ts';

export const DURABILITY: readonly Mutant[] = [
  {
    id: 'answer-before-commit',
    breaks: 'a delivery is answered 204 only once it is committed (§1, §5)',
    file: 'src/intake/accept-delivery.ts',
    find: '    return await Promise.race([stored, late]);',
    replace: "    return await Promise.race([Promise.resolve('committed' as const), stored, late]);",
    first: 'simulation',
  },
  {
    id: 'answer-told-before-commit',
    breaks: 'the writer tells what it took only once it is committed (§10)',
    file: 'src/store/write-loop.ts',
    find: `    const results = writer.commit(messages.map((message) => message.input));
    const outcomes = messages.map(({ id }, i) => outcomeOf(id, results[i]));
    owner.post({ type: 'outcomes', lastSeq: writer.lastSeq, outcomes });`,
    replace: `    const taken: Result = { ok: true, value: { seq: writer.lastSeq, duplicate: false, facts: [] } };
    owner.post({
      type: 'outcomes',
      lastSeq: writer.lastSeq,
      outcomes: messages.map(({ id }) => outcomeOf(id, taken)),
    });
    writer.commit(messages.map((message) => message.input));`,
    first: 'simulation',
  },
  {
    id: 'unstored-forgotten',
    breaks: 'what a delivery answered 503 was about is read (§10)',
    file: 'src/intake/accept-delivery.ts',
    find: "      deps.unstored.note(body, error instanceof Error ? error : new Error(String(error)));\n      return 'not_stored' as const;",
    replace: "      void error;\n      return 'not_stored' as const;",
    tests: ['test/intake/trouble.test.ts'],
  },
  {
    id: 'unstored-dropped-on-retry',
    breaks: 'what could not be put on record is kept for the next attempt (§10)',
    file: 'src/intake/unstored.ts',
    find: '      for (const id of sent) variantIds.add(id);\n      throw error;',
    replace: '      throw error;',
    tests: ['test/intake/trouble.test.ts'],
  },
  {
    id: 'not-stored-no-obligation',
    breaks: 'variants of unstored deliveries are obliged (§10)',
    file: 'src/core/fold.ts',
    find: '    ledger.tables.putVariant(ledger.obligeVariant(variant, entry.reason));',
    replace: '    ledger.tables.putVariant(variant);',
    tests: ['test/store/suspicion.test.ts', 'test/core/fold-unmapped.test.ts'],
  },
  {
    id: 'bodies-not-deduplicated',
    breaks: 'the same body again is not merged again (§8: deduplicated)',
    file: 'src/store/writer.ts',
    find: 'if (position !== null) return { seq: position, duplicate: true, facts: [] };',
    replace: 'if (position !== null && position < 0) return { seq: position, duplicate: true, facts: [] };',
    tests: ['test/store/log.test.ts'],
  },
  {
    id: 'bodies-deduplicated-by-length',
    breaks: 'only the same body is a repeat (§8: deduplicated)',
    file: 'src/store/log.ts',
    find: "return createHash('sha256').update(body).digest().subarray(0, 16);",
    replace: "return createHash('sha256').update(String(body.byteLength)).digest().subarray(0, 16);",
    first: 'simulation',
    tests: ['test/store/log.test.ts'],
  },
  {
    id: 'log-seq-gap',
    breaks: 'the log has no gap, not even after a rollback (§2)',
    file: 'src/store/log.ts',
    find: `  reload(): void {
    this.#lastSeq = this.#readLastSeq();`,
    replace: `  reload(): void {
    void this.#readLastSeq;`,
    first: 'simulation',
  },
  {
    id: 'state-kept-after-rollback',
    breaks: 'after a rollback the rules go on from what is on disk (§10)',
    file: 'src/store/sqlite-tables.ts',
    find: `  reload(): void {
    this.#state = this.#readState();`,
    replace: `  reload(): void {
    void this.#readState;`,
    first: 'simulation',
    tests: ['test/store/writer.test.ts', 'test/store/log.test.ts'],
  },
  {
    id: 'state-not-written',
    breaks: 'the tables are the fold of the log, the state among them (§2)',
    file: 'src/store/sqlite-tables.ts',
    find: '    this.#sql.putState.run({ ...this.#state, id: 1 });\n    this.#stateIsWritten = true;',
    replace: '    this.#stateIsWritten = true;',
    first: 'simulation',
  },
  {
    id: 'unchanged-detail-lost',
    breaks: 'a read in the log is the read that was merged (§2)',
    file: 'src/store/log.ts',
    find: "  if (snapshot.detailJson === knownDetailJson) return { ...rest, detail: 'unchanged' };",
    replace: "  if (knownDetailJson !== null) return { ...rest, detail: 'unchanged' };",
    first: 'simulation',
  },
  {
    id: 'late-answer',
    breaks: 'what is not committed within 800 ms is answered 503 (§5)',
    file: 'src/intake/accept-delivery.ts',
    find: 'export const COMMIT_DEADLINE_MS = 800;',
    replace: 'export const COMMIT_DEADLINE_MS = 8_000;',
    first: 'simulation',
    tests: ['test/intake/trouble.test.ts'],
  },
];
