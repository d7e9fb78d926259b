/** What must hold once everything has ended: the files, what consumers saw, and a second mirror. */
import type { Fact } from '../../src/core/apply/fact.ts';
import { openForQueries } from '../../src/mirror/reader/open-for-queries.ts';
import type { Cast } from './cast.ts';
import { differences } from './comparison.ts';
import type { Report } from './report.ts';
import { REST_WITHIN_MS } from './rest.ts';
import { Endless } from './watch/endless.ts';
import { openWork } from './watch/open-work.ts';
import { checkReapplied } from './watch/reapplied.ts';

const CLOCKS_SET = [
  'timestamp ahead',
  'future-dated timestamp',
  'restored backup (inbox)',
  'the process stands still',
  ...['mirror', 'service'].flatMap((whose) => [`${whose}'s clock set back`, `${whose}'s clock set forward`]),
];
const EVERY_MS = 1_000;
const MINUTE_MS = 60_000;

export async function checkTheEnd(cast: Cast): Promise<void> {
  const { report, waiting, consumer } = cast;
  const { disk } = cast.machine;
  await checkSecond(cast);
  for (const machine of cast.machines) await waiting.carriedOut(machine.stop());
  const db = cast.observer.open();
  if (db === null) {
    report.fault('there is no database');
    return;
  }
  cast.answered.check(db);
  consumer.finish(db);
  try {
    checkReapplied(
      { live: db, journal: disk.journal },
      report.fault,
      (fact) => countFact(report, fact),
      endless(cast),
    );
  } catch (error) {
    // A flipped number of the file may be in the journal, where another row has it.
    if (!report.isFlipped) throw error;
    report.count('a replay met a flipped number');
  }
  const integrity = db.pragma('integrity_check', { simple: true });
  // A damaged page is found when it is read, and no value may be in it: all were read at rest.
  if (integrity !== 'ok' && !report.isFlipped) report.fault(`integrity_check: ${String(integrity)}`);
  for (const [fault, times] of disk.felt) report.count(`disk: ${fault}`, times);
  report.count('epochs after the first', Math.max(0, consumer.epochs - 1));
  report.count('removals checked', cast.promises.removals);
  report.count('token requests', cast.calls.tokens);
}

/** The second mirror equals the store as well, and has every answered delivery. */
async function checkSecond(cast: Cast): Promise<void> {
  const { report, waiting } = cast;
  const second = cast.fleet?.receivers[0];
  if (second === undefined) return;
  const { databasePath } = second.disk;
  const db = openForQueries(databasePath);
  const unrest = (): string | null => openWork(db) ?? differences(cast, databasePath);
  for (const _ of [1, 2]) {
    await waiting.carriedOut(
      second.ask('/api/resync', { allow_removals: { by: 'Ana', reason: 'the story has ended' } }),
    );
    await waiting.happens(REST_WITHIN_MS, () => unrest() === null, EVERY_MS);
  }
  const left = unrest();
  if (left !== null) report.fault(`the second mirror is never at rest: ${left}`);
  if (!report.has('restored backup (inbox)')) cast.answered.check(db);
  db.close();
  await waiting.carriedOut(second.stop());
}

function endless({ plan, report }: Cast): Endless | null {
  const { dateAheadMs, nodeSkewMs, serviceOffsetMs } = plan;
  const isDateAhead = dateAheadMs > MINUTE_MS;
  if (nodeSkewMs > 0 || CLOCKS_SET.some((what) => report.has(what))) return null;
  if (isDateAhead && report.has('scene: hidden_level')) return null;
  return new Endless(report.fault, serviceOffsetMs, isDateAhead);
}

function countFact(report: Report, fact: Fact): void {
  report.count('branch' in fact ? `${fact.kind}: ${fact.branch}` : `fact: ${fact.kind}`);
  if (fact.kind === 'drift') report.count(`drift: ${fact.reason}`);
  if (fact.kind === 'read_requested') report.count(`read_requested: ${fact.reason}`);
}
