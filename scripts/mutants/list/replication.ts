/** What keeps several machines equal (docs/beyond-one-machine.md). */
import type { Mutant } from '../mutant.ts';

const consequences = 'src/replication/nats/consequences.ts';
const eventLog = 'src/event-log/event-log.ts';
const forwarder = 'src/replication/forwarder.ts';

export const REPLICATION: readonly Mutant[] = [
  {
    id: 'cursor-outside-transaction',
    breaks: 'rows and how far they were copied are committed together',
    file: eventLog,
    find: `      noteCopiedFrom(this.#db, { origin, cursor });
      return places;`,
    replace: `      setTimeout(() => this.#db.open && noteCopiedFrom(this.#db, { origin, cursor }), 40);
      return places;`,
    first: 'cluster',
  },
  {
    id: 'lease-by-value',
    breaks: 'the lease is renewed by its last revision alone',
    file: 'src/replication/nats/lease.ts',
    find: 'unlessTaken(kv.update(KEY, holder, revision))',
    replace: 'unlessTaken(kv.put(KEY, holder))',
    tests: ['test/replication/nats/engine.slow.test.ts'],
  },
  {
    id: 'pruned-by-local-time',
    breaks: 'what an entry says is pruned goes in every copy, whatever its clock says',
    file: eventLog,
    find: `if (kind === 'pruned') this.#sql.pruneBelow.run(prunedBelow(payload));`,
    replace: `if (kind === 'pruned') this.#sql.prune.run({ beforeMs: Date.now() - 30_000, belowSeq: this.#lastSeq, limit: 5_000 });`,
    first: 'cluster',
  },
  {
    id: 'pruned-keeps-bodies',
    breaks: 'what an entry says is pruned goes in every copy, and its bodies with it',
    file: eventLog,
    find: `    if (kind === 'pruned') this.#sql.pruneBelow.run(prunedBelow(payload));\n`,
    replace: '',
    first: 'cluster',
  },
  {
    id: 's0-by-last-entry',
    breaks: 's0 is what was applied here a replica lag ago, by the stopwatch',
    file: 'src/replication/shared-log.ts',
    find: 'return this.#applied.findLast(({ atMs }) => atMs <= nowMs - REPLICA_LAG_MS)?.seq ?? 0;',
    replace: 'return nowMs < 0 ? 0 : this.#deps.log.lastSeq;',
    tests: ['test/replication/shared-log.test.ts'],
  },
  {
    id: 'outbox-dropped-at-once',
    breaks: 'what was acknowledged stays in the outbox for ten minutes',
    file: forwarder,
    find: 'const KEPT_MS = 10 * 60_000;',
    replace: 'const KEPT_MS = 0;',
    first: 'cluster',
  },
  {
    id: 'loss-not-asked-for',
    breaks: 'an engine that has lost its end is offered again what it had acknowledged',
    file: forwarder,
    find: 'if (kept.every(Boolean)) {',
    replace: 'if (kept.length >= 0) {',
    first: 'cluster',
  },
  {
    id: 'history-from-elsewhere',
    breaks: 'a replica goes on with a new history from exactly the standing that it begins after',
    file: 'src/replication/nats/history.ts',
    find: 'base.after.epoch === epoch && base.after.lastSeq === lastSeq',
    replace: 'base.after.epoch === epoch',
    first: 'cluster',
  },
  {
    id: 'loss-not-begun-anew',
    breaks: 'where the engine has lost what a log has, the lead begins a new history',
    file: consequences,
    find: `!['none', 'lost', 'earlier_rules'].includes(type)`,
    replace: `!['none', 'earlier_rules'].includes(type)`,
    first: 'cluster',
  },
  {
    id: 'nothing-published-again',
    breaks: 'deliveries that nobody may have copied come again after a new base',
    file: consequences,
    find: 'BigInt(storedAt) - CLOCKS_DIFFER_NANOS',
    replace: 'BigInt(storedAt) + CLOCKS_DIFFER_NANOS',
    first: 'cluster',
  },
  {
    id: 'base-passes-one-over',
    breaks: 'who goes on with a new history copies its base first',
    file: consequences,
    find: '{ seq: verdict.base.seq, baseAt',
    replace: '{ seq: verdict.base.seq + 1, baseAt',
    first: 'cluster',
  },
  {
    id: 'equal-replicas-wait',
    breaks: 'replicas that have lost the same go on with the history that one of them begins',
    file: 'src/replication/replicator.ts',
    find: `first.kind !== 'epoch' && isPassed()`,
    replace: 'isPassed()',
    first: 'cluster',
  },
  {
    id: 'passed-lead-stays',
    breaks: 'a lead makes way for a replica that has what the engine has lost',
    file: 'src/app/leading.ts',
    find: '    if (fitness.isPassed)\n',
    replace: '    if (fitness.isPassed && signal.aborted)\n',
    tests: ['test/app/leading.test.ts'],
  },
];
