/** `npm run histories`: random histories against the properties of the merge rules (test/core/histories.ts). */
import { Command } from 'commander';
import { decimal, whole } from '../src/cli/shared/flags.ts';
import { PROPERTIES } from '../test/core/histories.ts';

interface Options {
  readonly count: number;
  readonly minutes: number;
  readonly only?: string;
  readonly seed?: number;
}

const AT_ONCE = 1_000;
const NEWS_EVERY_MS = 10_000;

const program = new Command('npm run histories --')
  .description(
    'Draws random histories of a store and its deliveries, and checks the properties of the merge rules on each.',
  )
  .option(
    '--count <histories>',
    'how many histories, shared equally among the properties',
    whole(1, 1e9),
    100_000,
  )
  .option('--minutes <minutes>', 'ends earlier after this time', decimal(0, 1e6), 4)
  .option('--only <text>', 'only properties whose name contains the text')
  .option('--seed <seed>', 'draws the same histories again', whole(0, 2 ** 31))
  .action(run);

function run({ count, minutes, only = '', seed = Date.now() % 2 ** 31 }: Options): void {
  const properties = PROPERTIES.filter(({ name }) => name.includes(only));
  if (properties.length === 0) throw new Error(`no property has “${only}” in its name`);
  const endsMs = performance.now() + minutes * 60_000;
  let newsMs = performance.now() + NEWS_EVERY_MS;
  let done = 0;
  console.log(`${properties.length} properties, seed ${seed}`);
  for (let round = 0; done < count && performance.now() < endsMs; round += 1) {
    for (const { name, check } of properties) {
      const numRuns = Math.min(AT_ONCE, count - done);
      if (numRuns === 0) break;
      try {
        check({ numRuns, seed: seed + round });
      } catch (error) {
        console.error(`broken: ${name}`);
        console.error(error instanceof Error ? error.message : error);
        process.exitCode = 1;
        return;
      }
      done += numRuns;
    }
    if (performance.now() < newsMs) continue;
    newsMs = performance.now() + NEWS_EVERY_MS;
    console.log(`${done.toLocaleString('en')} histories`);
  }
  console.log(`${done.toLocaleString('en')} histories, and every property holds`);
}

program.parse();
