/** `npm run mutants`: breaks each rule in turn, and shows that the properties or the simulation notice. */
import { join } from 'node:path';
import { Command } from 'commander';
import { whole } from '../src/cli/shared/flags.ts';
import { check } from './mutants/checks.ts';
import { runCourse } from './mutants/course.ts';
import { EQUIVALENT, MUTANTS } from './mutants/list.ts';
import { killAll } from './mutants/process.ts';
import { describeList, describeSummary, describeVerdict } from './mutants/report.ts';

interface Options {
  readonly only?: readonly string[];
  readonly list?: boolean;
  readonly seeds: number;
  readonly from: number;
  readonly atOnce: number;
}

const program = new Command('npm run mutants --')
  .description('Breaks each rule in turn, in private copies; exit code 1 when a broken rule goes unnoticed.')
  .option('--only <id...>', 'only these mutants')
  .option('--list', 'say what the mutants are')
  .option('--seeds <count>', 'of the simulation, for each mutant', whole(1, 100_000), 20)
  .option('--from <seed>', 'the first of them', whole(0, 2 ** 31 - 1), 1)
  .option('--at-once <count>', 'mutants at the same time', whole(1, 64), 2)
  .parse();
process.exitCode = await run(program.opts<Options>()).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  return 1;
});

async function run({ only, list = false, ...options }: Options): Promise<number> {
  if (list) {
    console.log(describeList(MUTANTS, EQUIVALENT));
    return 0;
  }
  const mutants = MUTANTS.filter(({ id }) => only === undefined || only.includes(id));
  const unknown = (only ?? []).filter((id) => MUTANTS.every((mutant) => mutant.id !== id));
  if (unknown.length > 0) {
    console.error(`no such mutant: ${unknown.join(', ')}; see --list`);
    return 2;
  }
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(signal, () => {
      killAll();
      process.exit(code);
    });
  }
  const startedMs = performance.now();
  const allTests = [...new Set(mutants.flatMap(({ tests = [] }) => tests))];
  console.log('first the unmutated source, which must pass');
  const verdicts = await runCourse({
    root: join(import.meta.dirname, '..'),
    mutants,
    atOnce: options.atOnce,
    check: (folder, mutant) =>
      check(folder, mutant, mutant === null ? allTests : (mutant.tests ?? []), options),
    onVerdict: (verdict) => console.log(describeVerdict(verdict)),
  });
  console.log(describeSummary(verdicts, (performance.now() - startedMs) / 1_000));
  return verdicts.every(({ caught }) => caught !== null) ? 0 : 1;
}
