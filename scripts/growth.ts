/** `npm run growth`: a month of deliveries in minutes, to see that file and write-ahead log stay as large as they should. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { whole } from '../src/cli/shared/flags.ts';
import { CHANGES_A_DELIVERY } from './bench/deliveries.ts';
import { grow, MOST_WAL_BYTES } from './growth/grow.ts';

interface Flags {
  readonly days: number;
  readonly rate: number;
  readonly scale: number;
  readonly retention: number;
  readonly cells: number;
  readonly seed: number;
}

const DAY_S = 24 * 60 * 60;
/** What a file may still grow by when pruning has reached its steady state: pages are split and filled again. */
const MOST_GROWTH = 0.03;

const program = new Command('npm run growth --')
  .description(
    'Lets a month of stock changes pass in minutes through the real writer, pruning and checkpoints, and fails when\n' +
      'the database file still grows in the last third of it. What a file keeps is the changes of RETENTION_DAYS, so\n' +
      'that a run with a hundredth of the rate is a file of a hundredth of the size.',
  )
  .option('--days <n>', 'simulated days', whole(3, 400), 30)
  .option('--rate <changes>', 'stock changes per second', whole(1, 5_000), 50)
  .option(
    '--scale <n>',
    'of the rate and of the catalogue only one in so many is simulated',
    whole(1, 10_000),
    100,
  )
  .option('--retention <days>', 'RETENTION_DAYS', whole(1, 400), 7)
  .option('--cells <n>', 'stock levels in the catalogue', whole(100, 10_000_000), 1_000_000)
  .option('--seed <number>', 'of the deliveries', whole(0, 2 ** 31 - 1), 1)
  .parse();
const { days, rate, scale, retention, cells, seed } = program.opts<Flags>();
const changesPerDay = (rate * DAY_S) / scale;
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-growth-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
const startedMs = performance.now();
console.log(
  `${days} days of ${rate} changes per second, RETENTION_DAYS=${retention}, ${cells} levels; ` +
    `simulated at a scale of 1:${scale}, which is ${changesPerDay.toFixed(0)} changes a day\n`,
);
console.log(' day   file MB    WAL MB   log entries');
const growth = await grow(
  {
    path: join(folder, 'growth.db'),
    days,
    deliveriesPerDay: Math.ceil(changesPerDay / CHANGES_A_DELIVERY),
    retentionDays: retention,
    prunesPerDay: 24,
    levels: Math.ceil(cells / scale),
    seed,
  },
  ({ day, fileBytes, walBytes, logEntries }) => {
    const figures = [
      String(day).padStart(4),
      megabytes(fileBytes).padStart(10),
      megabytes(walBytes).padStart(10),
    ];
    console.log([...figures, String(logEntries).padStart(14)].join(''));
  },
);
const lastBytes = growth.days.at(-1)?.fileBytes ?? 0;
console.log(
  `\nIn the last third the file grew by ${(growth.lastThird * 100).toFixed(2)} %. The longest write-ahead log was ` +
    `${megabytes(growth.longestWalBytes)} MB. ` +
    `${((performance.now() - startedMs) / 1_000).toFixed(0)} s.\n` +
    `At full scale the file would have about ${((lastBytes * scale) / 1e9).toFixed(1)} GB.`,
);
if (growth.lastThird > MOST_GROWTH || growth.longestWalBytes > MOST_WAL_BYTES) {
  console.error(
    `error: more than ${MOST_GROWTH * 100} %, or ${megabytes(MOST_WAL_BYTES)} MB of log: something is not bounded`,
  );
  process.exitCode = 1;
}
