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
    find: `  const timer = setTimeout(() => late.resolve('not_stored'), deadlineMs);`,
    replace: `  const timer = setTimeout(() => late.resolve('not_stored'), deadlineMs);\n  late.resolve('committed');`,
    first: 'simulation',
  },
  {
    id: 'answer-before-sync',
    breaks: 'the event log tells what it took only once it is synced (docs/architecture.md#durability)',
    file: 'src/event-log/append-loop.ts',
    find: `      const places = log.append(taken.map(({ input }) => input));`,
    replace: `      const places = taken.map((_, i) => ({ seq: log.lastSeq + 1 + i, duplicate: false }));\n      setImmediate(() => log.append(taken.map(({ input }) => input)));`,
    first: 'simulation',
  },
  {
    id: 'applied-seq-outside-transaction',
    breaks: 'rows and the position that they reach are committed together (docs/architecture.md#durability)',
    file: 'src/mirror/writer/projection.ts',
    find: `      this.#tables.flush();
      this.#markOwn.close.run();
      this.#db.exec('COMMIT');`,
    replace: `      const reached = this.#tables.state();
      this.#tables.putState({ ...reached, appliedSeq: this.#appliedSeq });
      this.#tables.flush();
      this.#markOwn.close.run();
      this.#db.exec('COMMIT');
      this.#tables.putState(reached);
      this.#tables.flush();`,
    first: 'simulation',
  },
  {
    id: 'applied-out-of-order',
    breaks: 'entries are applied in the order of the event log (docs/architecture.md#data-flow)',
    file: 'src/mirror/writer/projection.ts',
    find: `      for (const row of rows) {
        const report = this.#apply(row);`,
    replace: `      const seqs = rows.map(({ seq }) => seq);
      for (const [i, row] of [...rows].reverse().entries()) {
        const report = this.#apply({ ...row, seq: seqs[i] ?? row.seq });`,
    first: 'simulation',
  },
  {
    id: 'time-of-the-portion',
    breaks:
      'what an entry does is the same in whatever portion it is applied, so that two mirrors of one event log are equal (docs/architecture.md#the-event-log)',
    file: 'src/mirror/writer/projection.ts',
    find: '        const report = this.#apply(row);',
    replace: '        const report = this.#apply({ ...row, atMs: rows[0]?.atMs ?? row.atMs });',
    first: 'simulation',
  },
  {
    id: 'entry-skipped',
    breaks: 'every entry of the event log is applied (docs/architecture.md#data-flow)',
    file: 'src/mirror/writer/projection.ts',
    find: `    const ruled = this.#applyEntry(entry);
    const facts`,
    replace: `    if (seq % 40 === 7) {
      this.#tables.putState({ ...this.#tables.state(), appliedSeq: seq });
      return null;
    }
    const ruled = this.#applyEntry(entry);
    const facts`,
    first: 'simulation',
  },
  {
    id: 'ended-run-goes-on',
    breaks: 'what a run says for good is decided by an entry (docs/architecture.md#the-event-log)',
    file: 'src/mirror/writer/commands.ts',
    find: " WHERE id = ? AND state = 'running'`",
    replace: ' WHERE id = ?`',
    tests: ['test/mirror/file/equal-mirrors.test.ts'],
  },
  {
    id: 'pruned-beyond-bound',
    breaks: 'what came of an entry that is kept is not pruned (docs/architecture.md#start-and-stop)',
    file: 'src/mirror/writer/records.ts',
    find: 'DELETE FROM changes WHERE log_seq < @firstSeq AND seq IN',
    replace: 'DELETE FROM changes WHERE seq IN',
    tests: ['test/ops/feed.test.ts'],
  },
  {
    id: 'unstored-forgotten',
    breaks: 'what a delivery answered 503 was about is read (docs/architecture.md#durability)',
    file: 'src/intake/accept-delivery.ts',
    find: `      deps.unstored.note(bytes, asError(error));`,
    replace: `      void error;`,
    tests: ['test/intake/trouble.test.ts'],
  },
  {
    id: 'unstored-dropped-on-retry',
    breaks: 'what could not be recorded is kept for the next attempt (docs/architecture.md#durability)',
    file: 'src/intake/unstored.ts',
    find: '        for (const id of variantIds) this.#variantIds.add(id);\n',
    replace: '',
    tests: ['test/intake/trouble.test.ts'],
  },
  {
    id: 'not-stored-no-request',
    breaks: 'variants of unstored deliveries are obliged (docs/architecture.md#durability)',
    file: 'src/core/apply/apply-entry.ts',
    find: '    work.tables.putVariant(work.requestVariantRead(variant, entry.reason));',
    replace: '    work.tables.putVariant(variant);',
    tests: ['test/mirror/queries/suspicion.test.ts', 'test/core/apply/unknown-variant.test.ts'],
  },
  {
    id: 'bodies-not-deduplicated',
    breaks: 'the same body again is not merged again (docs/architecture.md#deduplication)',
    file: 'src/event-log/event-log.ts',
    find: 'input.arrivedAtMs, key, input.body',
    replace: 'input.arrivedAtMs, null, input.body',
    tests: ['test/event-log/log.test.ts'],
  },
  {
    id: 'bodies-deduplicated-by-length',
    breaks: 'only the same body is a repeat (docs/architecture.md#deduplication)',
    file: 'src/event-log/body-hash.ts',
    find: `const key = hash('sha256', body, 'buffer')`,
    replace: `const key = hash('sha256', String(body.byteLength), 'buffer')`,
    first: 'simulation',
    tests: ['test/event-log/log.test.ts'],
  },
  {
    id: 'log-seq-gap',
    breaks: 'the event log has no gap, not even after a rollback (docs/architecture.md#data-flow)',
    file: 'src/event-log/event-log.ts',
    find: `        this.#rollBack();
        this.#lastSeq = this.#readLastSeq();`,
    replace: `        this.#rollBack();
        void this.#readLastSeq;`,
    first: 'simulation',
  },
  {
    id: 'rows-kept-after-rollback',
    breaks: 'after a rollback the rules go on from what is on disk (docs/architecture.md#durability)',
    file: 'src/mirror/writer/sqlite-tables.ts',
    find: '    this.#cache.clear();',
    replace: '    void this.#cache;',
    tests: ['test/mirror/writer/projection.test.ts'],
  },
  {
    id: 'rows-kept-beside-anothers-writes',
    breaks:
      'the rules go on from what is on disk, also when another program has written it (docs/architecture.md#durability)',
    file: 'src/mirror/writer/projection.ts',
    find: 'version !== this.#knownVersion',
    replace: 'version === undefined',
    tests: ['test/mirror/writer/projection.test.ts'],
  },
  {
    id: 'state-kept-after-rollback',
    breaks: 'after a rollback the rules go on from what is on disk (docs/architecture.md#durability)',
    file: 'src/mirror/writer/sqlite-tables.ts',
    find: `    this.#product = null;\n    this.#state = this.#readState();`,
    replace: `    this.#product = null;\n    void this.#readState;`,
    first: 'simulation',
    tests: ['test/mirror/writer/projection.test.ts', 'test/event-log/log.test.ts'],
  },
  {
    id: 'state-not-written',
    breaks:
      'the tables are the projection of the event log, the state included (docs/architecture.md#data-flow)',
    file: 'src/mirror/writer/sqlite-tables.ts',
    find: '    this.#sql.putState.run({ ...this.#state, id: 1 });\n    this.#stateIsWritten = true;',
    replace: '    this.#stateIsWritten = true;',
    first: 'simulation',
  },
  {
    id: 'unchanged-detail-lost',
    breaks: 'a read in the event log is the read that is applied (docs/architecture.md#data-flow)',
    file: 'src/event-log/entries.ts',
    find: 'payloadWithout: payloadWith({ hash: hashed }),',
    replace: "payloadWithout: payloadWith('none'),",
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
