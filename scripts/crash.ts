/**
 * `npm run crash -- --kills N [--seed S]`: kills the mirror with `kill -9` at seeded instants while webhooks arrive,
 * a quarter of the times only its receiver or its mirror half, while the other half keeps running.
 * Every answered delivery must be in the database, a consumer of the feed must miss nothing, and at the end the mirror
 * must equal the store.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { crash, type CrashReport } from './crash/run.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
    rate: { type: 'string', default: '400' },
    products: { type: 'string', default: '80' },
  },
});
const [kills, seed, rate, products] = [values.kills, values.seed, values.rate, values.products].map(
  Number,
) as [number, number, number, number];
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
