/**
 * `npm run crash -- --kills N [--seed S]`: kills the mirror with `kill -9` at seeded instants while webhooks arrive,
 * a quarter of the times only its receiver or its mirror half, while the other half keeps running.
 * Every answered delivery must be in the database, a consumer of the feed must miss nothing, and at the end the mirror
 * must equal the store.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { whole } from '../src/cli/shared/flags.ts';
import { crash, type CrashReport } from './crash/run.ts';

const { kills, seed, rate, products } = new Command('npm run crash --')
  .description('Kills the mirror at seeded instants while webhooks arrive, and looks for what was lost.')
  .option('--kills <n>', 'how many', whole(1, 1e6), 50)
  .option('--seed <seed>', 'kills at the same instants again', whole(0, 1e9), Date.now() % 1e6)
  .option('--rate <n>', 'webhooks per second', whole(1, 1e4), 400)
  .option('--products <n>', 'products of the store', whole(1, 1e6), 80)
  .parse()
  .opts<{ kills: number; seed: number; rate: number; products: number }>();
const command = `npm run crash -- --kills ${kills} --seed ${seed} --rate ${rate} --products ${products}`;
const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-crash-'));
function print(report: CrashReport): void {
  const counts = [
    `${report.kills} kills (${report.killsOfHalves} of one half alone)`,
    `${report.answered} deliveries answered`,
    `${report.found} found`,
    `${report.changesSeen} changes seen`,
  ];
  console.log(counts.join(', '));
}

console.log(command);
const report = await crash({
  kills,
  seed,
  rate,
  products,
  folder,
  onKilled: (progress) => {
    if (progress.kills % 10 === 0) print(progress);
  },
});
print(report);
if (report.problems.length === 0) {
  console.log('nothing is lost, and the mirror equals the store');
  rmSync(folder, { recursive: true, force: true });
} else {
  for (const problem of report.problems.slice(0, 20)) console.log(`  ${problem}`);
  console.log(`FAILED, ${report.problems.length} problems; the files are in ${folder}; repeat: ${command}`);
  process.exitCode = 1;
}
