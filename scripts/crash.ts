/**
 * `npm run crash -- --kills N [--seed S]`: the real mirror is killed with `kill -9` at seeded instants while signed
 * webhooks come in. Every delivery that was answered must be found, and every table must match the event log.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { whole } from '../src/cli/shared/flags.ts';
import { describeProgress, describeReport } from './crash/report.ts';
import { crash } from './crash/run.ts';

interface Flags {
  readonly kills: number;
  readonly seed: number;
  readonly rate: number;
  readonly products: number;
}

const program = new Command('crash')
  .description('kills the mirror again and again under load, and checks that nothing answered is lost')
  .option('--kills <count>', 'how often', whole(1, 100_000), 50)
  .option(
    '--seed <number>',
    'of the traffic, the faults and the instants',
    whole(0, 2 ** 31 - 1),
    Date.now() % 1e6,
  )
  .option('--rate <changes>', 'stock changes per second', whole(1, 5_000), 400)
  .option('--products <count>', 'in the catalogue', whole(2, 10_000), 80)
  .parse();
const { kills, seed, rate, products } = program.opts<Flags>();
const command = `npm run crash -- --kills ${kills} --seed ${seed} --rate ${rate} --products ${products}`;
const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-crash-'));
const isTerminal = process.stdout.isTTY;
const startedMs = performance.now();
process.stdout.write(`${command}\n`);

const report = await crash({
  kills,
  seed,
  rate,
  products,
  folder,
  onProgress: (progress) => {
    const line = describeProgress(progress, kills, performance.now() - startedMs);
    if (isTerminal) process.stdout.write(`\r${line}\u001b[K`);
    else if (progress.kills % 20 === 0) process.stdout.write(`${line}\n`);
  },
});
if (isTerminal) process.stdout.write('\n');
process.stdout.write(describeReport(report, performance.now() - startedMs));
if (report.problems.length === 0) {
  rmSync(folder, { recursive: true, force: true });
} else {
  process.stdout.write(`the files are kept in ${folder}\nrepeat it with: ${command}\n`);
  process.exitCode = 1;
}
