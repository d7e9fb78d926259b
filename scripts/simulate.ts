/** `npm run simulate`: many seeds of the deterministic simulation, or one of them step by step. */
import { fork, type ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { decimal, whole } from '../src/cli/shared/flags.ts';
import { ENOUGH_SEEDS, neverHappened } from '../test/simulation/expected.ts';
import { drawPlan } from '../test/simulation/draw-plan.ts';
import type { Kind, Plan } from '../test/simulation/plan.ts';
import { runPlan, type Outcome } from '../test/simulation/run.ts';
import { shrink, wayOf } from '../test/simulation/shrink.ts';

interface Options {
  readonly seeds: number;
  readonly from: number;
  readonly minutes: number;
  readonly seed?: number;
  readonly kind?: Kind;
  readonly trace?: boolean;
  readonly firstFailure?: boolean;
  readonly keep?: string;
  readonly processes: number;
}

interface Report {
  readonly seed: number;
  readonly outcome: (Pick<Outcome, 'faults' | 'counts' | 'virtualMs'> & Partial<Outcome>) | null;
  readonly fault?: string;
}

const SHRINK_MS = 120_000;
const NEWS_EVERY_MS = 10_000;
const FAILURES_SHOWN = 10;

const program = new Command('npm run simulate --')
  .description(
    'Runs the real code against a simulated store, network, disk and clock; each seed is a different story.',
  )
  .option('--seeds <n>', 'how many seeds', whole(0, 1e9), 200)
  .option('--from <seed>', 'the first of them', whole(0, 1e9), 1)
  .option('--minutes <m>', 'begin no further seed after this time', decimal(0, 1e6), 60)
  .option('--processes <n>', 'how many at once', whole(0, 1e9), availableParallelism())
  .option(
    '--seed <seed>',
    'only this one; when it fails, its story is made as short as possible',
    whole(0, 1e9),
  )
  .addOption(
    new Option(
      '--kind <kind>',
      'history: faults of every kind; lives: life cycles of process, machine and files; ' +
        'stream: three receivers, and a stream between them and two mirrors. Default: history and lives in turn',
    ).choices(['history', 'lives', 'stream']),
  )
  .option('--first-failure', 'begin no further seed after a failure, and do not shorten its story')
  .option('--trace', 'with --seed: say what happens, line by line')
  .option('--keep <file>', 'with --seed: keep the database there')
  .parse();
const options = program.opts<Options>();
const kindOf = (seed: number): Kind => options.kind ?? (seed % 2 === 0 ? 'lives' : 'history');
if (options.seed === undefined) process.exitCode = await runMany(options);
else process.exitCode = await runOne(options.seed, options);

async function runOne(seed: number, { trace = false, keep }: Options): Promise<number> {
  const plan = drawPlan(seed, kindOf(seed));
  const outcome = await runPlan(plan, {
    ...(trace ? { trace: (line: string) => console.log(line) } : {}),
    ...(keep === undefined ? {} : { keepAt: keep }),
  });
  for (const fault of outcome.faults) console.log(`FAULT ${fault}`);
  console.log(
    `seed ${seed}: ${outcome.faults.length === 0 ? 'every promise held' : 'failed'} ` +
      `(${outcome.fingerprint})`,
  );
  if (outcome.faults.length === 0) return 0;
  await tellStory(plan, outcome);
  return 1;
}

/** Tells the shortest story that fails in the same way. */
async function tellStory(plan: Plan, outcome: Pick<Outcome, 'faults'>): Promise<void> {
  const untilMs = performance.now() + SHRINK_MS;
  const short = await shrink(plan, wayOf(outcome) ?? '', () => performance.now() > untilMs);
  const { steps, ...setting } = short;
  console.log(`\nthe same with ${steps.length} of ${plan.steps.length} steps, ${JSON.stringify(setting)}:`);
  for (const { atMs, action } of steps)
    console.log(`  ${(atMs / 1_000).toFixed(3)} s  ${JSON.stringify(action)}`);
  for (const fault of (await runPlan(short)).faults.slice(0, 3)) console.log(`  FAULT ${fault}`);
}

function whyOf({ outcome, fault }: Report): string {
  return fault ?? outcome?.faults[0] ?? '';
}

async function runMany({ seeds, from, minutes, processes, firstFailure = false }: Options): Promise<number> {
  const startedMs = performance.now();
  const endMs = startedMs + minutes * 60_000;
  const counts: Record<string, number> = {};
  const failed: Report[] = [];
  let virtualMs = 0;
  let done = 0;
  let next = from;
  let newsAtMs = startedMs + NEWS_EVERY_MS;

  const take = (report: Report): void => {
    done += 1;
    const { outcome } = report;
    if (outcome === null || outcome.faults.length > 0) {
      failed.push(report);
      console.log(`seed ${report.seed} failed: ${whyOf(report).slice(0, 200)}`);
    }
    if (outcome !== null) {
      for (const [what, times] of Object.entries(outcome.counts)) counts[what] = (counts[what] ?? 0) + times;
      virtualMs += outcome.virtualMs;
    }
    if (performance.now() < newsAtMs) return;
    newsAtMs = performance.now() + NEWS_EVERY_MS;
    console.log(`${done} of ${seeds} seeds, ${failed.length} failed`);
  };
  const serve = (child: ChildProcess): Promise<void> =>
    new Promise((resolve, reject) => {
      let isIdle = false;
      const send = (): void => {
        isIdle = next >= from + seeds || performance.now() > endMs || (firstFailure && failed.length > 0);
        if (isIdle) child.disconnect();
        else {
          child.send({ seed: next, kind: kindOf(next) });
          next += 1;
        }
      };
      child.on('message', (report: Report) => {
        take(report);
        send();
      });
      child.on('error', reject);
      child.on('exit', (code) => (isIdle ? resolve() : reject(new Error(`a process ended with ${code}`))));
      send();
    });
  const file = join(import.meta.dirname, '../test/simulation/seed-process.ts');
  await Promise.all(Array.from({ length: Math.max(1, processes) }, () => serve(fork(file))));

  const seconds = (performance.now() - startedMs) / 1_000;
  console.log('');
  for (const [what, times] of Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    console.log(`${String(times).padStart(9)}  ${what}`);
  }
  const hours = (virtualMs / 3_600_000).toFixed(1);
  console.log(
    `\n${done} seeds in ${seconds.toFixed(0)} s, ${(done / seconds).toFixed(2)} per second, ${hours} hours of simulated time`,
  );

  for (const report of failed.slice(0, FAILURES_SHOWN)) {
    const { seed } = report;
    console.log(`\nseed ${seed} failed: ${whyOf(report).slice(0, 500)}`);
    console.log(`  again:  npm run simulate -- --seed ${seed} --kind ${kindOf(seed)} --trace`);
  }
  const missing = options.kind !== undefined || done < ENOUGH_SEEDS ? [] : neverHappened(counts);
  for (const what of missing) console.log(`never happened: ${what}`);
  console.log(failed.length === 0 ? 'every promise held' : `${failed.length} of ${done} seeds failed`);
  const first = failed[0];
  if (first !== undefined && first.outcome !== null && !firstFailure)
    await tellStory(drawPlan(first.seed, kindOf(first.seed)), first.outcome);
  return failed.length === 0 && missing.length === 0 && done > 0 ? 0 : 1;
}
