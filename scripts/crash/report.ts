/** The course in words. */
import type { Moment } from './plan.ts';
import type { Ending } from './quiet.ts';
import type { ItemTally } from './reference.ts';

export interface Progress {
  readonly kills: number;
  readonly moment: Moment;
  readonly answered: number;
  readonly found: number;
}

export interface CrashReport {
  /** Why the promise does not hold; none when it does. */
  readonly problems: readonly string[];
  readonly kills: Readonly<Record<string, number>>;
  readonly sent: number;
  readonly answered: number;
  readonly found: number;
  readonly refused: number;
  readonly cut: number;
  readonly lost: number;
  readonly slowestMs: number;
  readonly firstAnswerMs: readonly number[];
  readonly items: ItemTally;
  readonly changesSeen: number;
  readonly logEntries: number;
  /** The most entries that a kill left in the event log without being applied. */
  readonly mostBehind: number;
  readonly integrityChecks: number;
  readonly agedEntries: number;
  /** From the last start until nothing was left to do. */
  readonly quietMs: number | null;
  /** Null when the course ended early. */
  readonly ending: Ending | null;
}

const SHOWN_PROBLEMS = 10;

export function describeProgress(progress: Progress, kills: number, tookMs: number): string {
  const { moment, answered, found } = progress;
  return (
    `${progress.kills}/${kills} kills, ${Math.round(tookMs / 1_000)} s, last: ${moment.replace('_', ' ')}; ` +
    `${answered} deliveries answered, ${found} found`
  );
}

export function describeReport(report: CrashReport, tookMs: number): string {
  const { kills, items, problems } = report;
  const ignored = Object.values(items.ignored).reduce((sum, count) => sum + count, 0);
  const total = Object.values(kills).reduce((sum, count) => sum + count, 0);
  const rows: [string, string][] = [
    ['kills', `${total} in ${Math.round(tookMs / 1_000)} s: ${byName(kills)}`],
    ['deliveries', `${report.sent} sent, ${report.cut} of them cut by a kill or refused while down`],
    ['', `${report.lost} more lost on the way by the simulated network`],
    ['answered 204', `${report.answered}, of which ${report.found} found in the log; 503: ${report.refused}`],
    [
      'their items',
      `${items.shown} in the change feed, ${items.unchanged} as held already, ${ignored} ignored (${byName(items.ignored)})`,
    ],
    [
      'log',
      `${report.logEntries} entries applied again; ${report.agedEntries} made old enough to be pruned; a kill left up to ${report.mostBehind} not applied`,
    ],
    ['integrity_check', `ok ${report.integrityChecks} times`],
    ['change feed', `${report.changesSeen} rows seen by a consumer, each once and in order`],
    ['first 204', `${spread(report.firstAnswerMs)} after the start`],
    ['slowest answer', `${report.slowestMs} ms`],
    ['at the end', describeEnding(report)],
  ];
  const table = rows.map(([name, text]) => `${name.padEnd(16)}${text}\n`).join('');
  if (problems.length === 0) return `${table}nothing is lost\n`;
  const shown = problems.slice(0, SHOWN_PROBLEMS).map((problem) => `  ${problem}\n`);
  return `${table}FAILED, ${problems.length} problems:\n${shown.join('')}`;
}

function describeEnding({ ending, quietMs }: CrashReport): string {
  if (ending === null || quietMs === null) return 'not at rest';
  const rest = `at rest ${(quietMs / 1_000).toFixed(1)} s after the last start; ${ending.figures} figures compared`;
  return `${rest}, ${ending.untold} levels of pulled variants left out, which no read tells`;
}

function byName(counts: Readonly<Record<string, number>>): string {
  const words = Object.entries(counts).map(([name, count]) => `${count} ${name.replace('_', ' ')}`);
  return words.join(', ') || 'none';
}

function spread(timesMs: readonly number[]): string {
  if (timesMs.length === 0) return 'none';
  const sorted = timesMs.toSorted((a, b) => a - b);
  const median = sorted[sorted.length >> 1] ?? Number.NaN;
  return `median ${median} ms, at most ${sorted.at(-1)} ms`;
}
