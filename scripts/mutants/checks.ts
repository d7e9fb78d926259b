/** The checks that a mutant is held against: properties, simulation, and tests that a mutant names. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diskPrefix } from '../../test/simulation/disk.ts';
import type { Catch } from './course.ts';
import type { Mutant } from './mutant.ts';
import { runNode, type Ended } from './process.ts';

const PROPERTIES = 'test/core/properties.test.ts';
/** Between two tests, or two seeds: many times what one takes on a loaded machine. */
const TESTS_SILENCE_MS = 120_000;
const SEED_SILENCE_MS = 90_000;

interface ChecksOptions {
  readonly seeds: number;
  readonly from: number;
}

/** @param mutant null: the unmutated source, held against all that any of the mutants is. */
export async function check(
  folder: string,
  mutant: Mutant | null,
  tests: readonly string[],
  options: ChecksOptions,
): Promise<Catch | null> {
  const properties = (): Promise<Catch | null> => runTests(folder, 'the properties', [PROPERTIES]);
  const simulation = (): Promise<Catch | null> => runSeeds(folder, options);
  const steps = mutant?.first === 'simulation' ? [simulation, properties] : [properties, simulation];
  if (tests.length > 0) steps.push(() => runTests(folder, 'its tests', tests));
  for (const step of steps) {
    const caught = await step();
    if (caught !== null) return caught;
  }
  return null;
}

async function runSeeds(folder: string, { seeds, from }: ChecksOptions): Promise<Catch | null> {
  let last: { readonly seed: number; readonly fault: string | null } | null = null;
  const ended = await runNode({
    folder,
    args: ['scripts/mutants/first-fault.ts', String(from), String(seeds)],
    silenceMs: SEED_SILENCE_MS,
    onLine: (line) => {
      if (line.startsWith('{"seed":')) last = JSON.parse(line) as typeof last;
    },
  });
  if (ended.how === 'ok') return null;
  removeDisks(ended.pid);
  const { seed, fault } = last ?? { seed: from - 1, fault: null };
  if (fault !== null) return { by: `seed ${seed}`, saying: fault };
  return { by: `seed ${seed + 1}`, saying: abruptEnd(ended) };
}

/** A killed simulation leaves its disk behind, in memory. */
function removeDisks(pid: number): void {
  for (const folder of ['/dev/shm', tmpdir()].filter(existsSync)) {
    for (const name of readdirSync(folder).filter((entry) => entry.startsWith(diskPrefix(pid)))) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
  }
}

async function runTests(folder: string, what: string, files: readonly string[]): Promise<Catch | null> {
  const result = join(folder, 'result.json');
  rmSync(result, { force: true });
  // Of its own: the project's would keep its cache in the node_modules that all copies share.
  writeFileSync(
    join(folder, 'mutants.config.ts'),
    `export default { cacheDir: '.vite', test: { include: ['test/**/*.test.ts'], pool: 'forks', maxWorkers: 1,
      testTimeout: 60_000, hookTimeout: 60_000, env: { NO_COLOR: '1' }, setupFiles: ['scripts/mutants/fast-check.ts'] } };`,
  );
  const ended = await runNode({
    folder,
    args: [
      'node_modules/vitest/vitest.mjs',
      ...['run', '--config', 'mutants.config.ts', '--bail', '1'],
      // The one for its signs of life, the other to be read.
      ...['--reporter', 'verbose', '--reporter', 'json', '--outputFile.json', result],
      ...files,
    ],
    silenceMs: TESTS_SILENCE_MS,
  });
  if (ended.how === 'ok') return null;
  const failed = existsSync(result) ? failedTest(readFileSync(result, 'utf8')) : null;
  return { by: what, saying: failed ?? abruptEnd(ended) };
}

interface VitestReport {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly title: string }[];
  }[];
}

function failedTest(json: string): string | null {
  const { testResults } = JSON.parse(json) as VitestReport;
  for (const { assertionResults, message } of testResults) {
    const failed = assertionResults.find(({ status }) => status === 'failed');
    if (failed !== undefined) return failed.title;
    if (message !== '') return message.split('\n')[0] ?? message;
  }
  return null;
}

function abruptEnd({ how, lastLines }: Ended): string {
  if (how === 'killed') return 'it hung and was killed';
  return `it crashed: ${lastLines.find((line) => /Error/.test(line)) ?? lastLines.at(-1) ?? 'without a word'}`;
}
