/** Runs a plan on the real code and checks every promise. */
import { createRandom } from '../../src/sandbox/world/random.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { Cast } from './cast.ts';
import { installGlobals } from './globals.ts';
import { hasTrusted, isAllApplied, shownState } from './observer.ts';
import type { Plan } from './plan.ts';
import { describe, Report } from './report.ts';
import { comeToRest } from './rest.ts';
import { checkTheEnd } from './the-end.ts';
import { VirtualTime, WORLD } from './virtual-time.ts';
import { checkFeedTrust } from './watch/feed-trust.ts';

export interface Outcome {
  readonly faults: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly virtualMs: number;
  readonly fingerprint: string;
}

interface RunOptions {
  readonly trace?: (line: string) => void;
  readonly keepAt?: string;
}

const SAMPLE_EVERY_MS = 2_000;

export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<Outcome> {
  const time = new VirtualTime(plan.startMs);
  const globals = installGlobals(time, plan.seed);
  const report = new Report({ sinceMs: () => time.nowMs - plan.startMs, trace: options.trace });
  const cast = new Cast({ plan, time, globals, report });
  try {
    return await play(cast);
  } finally {
    cast.end(options.keepAt);
    globals.restore();
  }
}

async function play(cast: Cast): Promise<Outcome> {
  const { plan, time, report } = cast;
  const onRejection = (error: unknown): void => report.fault(`unhandled: ${describe(error)}`);
  process.on('unhandledRejection', onRejection);
  try {
    cast.fleet?.begin();
    for (const machine of cast.machines) void machine.start();
    for (const step of plan.steps) {
      time.at(plan.startMs + step.atMs, WORLD, () => {
        report.trace(JSON.stringify(step.action));
        cast.performer.perform(step.action);
      });
    }
    sampleAgain(cast);
    pollAgain(cast, createRandom(plan.seed, 'consumer'));
    const isOver = (): boolean => report.hasFault;
    await time.runUntil(plan.startMs + plan.activeMs, isOver);
    if (!isOver()) await comeToRest(cast);
    if (!isOver()) await checkTheEnd(cast);
  } finally {
    process.off('unhandledRejection', onRejection);
  }
  return {
    faults: report.faults,
    counts: report.counts,
    virtualMs: time.nowMs - plan.startMs,
    fingerprint: `${time.steps}/${time.nowMs}/${cast.calls.details}/${cast.answered.count}`,
  };
}

function sampleAgain(cast: Cast): void {
  if (cast.isDisturbed()) cast.undisturbed.note();
  reading(cast, (db) => sample(cast, db));
  cast.time.after(SAMPLE_EVERY_MS, WORLD, () => sampleAgain(cast));
}

function sample(cast: Cast, db: Db): void {
  const { plan, service } = cast;
  checkFeedTrust(db, cast.report.fault);
  if (isAllApplied(db)) {
    cast.isHealing = false;
    cast.wayIn.appliedAll();
  }
  if (!cast.isHealing) cast.seen.check(db, service);
  cast.checkMoved(db);
  checkWayIn(cast, db);
  cast.calm?.check(db);
  if (plan.isStoreTrue) checkTrusted(cast, db);
  if (plan.kind === 'lives') cast.probed.check(db);
  // Nodes with different clocks leave the order unknown; an answered delivery may not be applied yet.
  if (plan.nodeSkewMs === 0 && isAllApplied(db) && cast.isDrained()) cast.delivered.checkLevels(db, service);
}

function checkTrusted(cast: Cast, db: Db): void {
  if (cast.canTellWhetherItRuns()) cast.trusted.check(db, cast.service);
  else cast.trusted.unread();
}

/** While the way in is unproven or webhooks are missing, nothing is trusted. */
function checkWayIn({ wayIn, report }: Cast, db: Db): void {
  if (wayIn.wayIn === null || wayIn.wayIn === 'proven') return;
  const shown = shownState(db);
  if (shown?.state === 'live') report.fault(`the state is live, and the way in is ${wayIn.wayIn}`);
  if (hasTrusted(db)) report.fault(`rows are trusted, and the way in is ${wayIn.wayIn}`);
}

function pollAgain(cast: Cast, random: ReturnType<typeof createRandom>): void {
  reading(cast, (db) => cast.consumer.poll(db, random.pick([1, 7, 1_000])));
  cast.time.after(random.pick([50, 700, 5_000, 30_000]), WORLD, () => pollAgain(cast, random));
}

function reading({ observer, report }: Cast, read: (db: Db) => void): void {
  observer.reading(read, () => report.count('a reader met a damaged file'));
}
