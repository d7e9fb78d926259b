/**
 * `npm run cluster`: three servers of the engine, three receivers and three replicas on this machine, a thousand
 * deliveries a second, each kind of process killed in turn. What was answered must be everywhere, and all must be equal.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { whole } from '../src/cli/shared/flags.ts';
import { hasServer } from '../test/replication/nats/server.ts';
import { runCluster, type ClusterReport } from './cluster/run.ts';

interface Flags {
  readonly seconds: number;
  readonly rate: number;
  readonly products: number;
  readonly seed: number;
}

const program = new Command('cluster')
  .description(
    'kills receivers, replicas and servers of the engine under load, and checks that nothing answered is lost',
  )
  .option('--seconds <count>', 'of deliveries', whole(1, 3_600), 120)
  .option('--rate <deliveries>', 'a second', whole(1, 10_000), 1_000)
  .option('--products <count>', 'in the catalogue', whole(2, 10_000), 1_000)
  .option('--seed <number>', 'of the traffic', whole(0, 2 ** 31 - 1), 1)
  .parse();
const { seconds, rate, products, seed } = program.opts<Flags>();
if (!hasServer) {
  process.stderr.write(
    'error: there is no nats-server 2.10.23 or newer: run scripts/install-nats-server.sh\n',
  );
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-cluster-'));
const report = await runCluster({
  ...{ seconds, perSecond: rate, products, seed, folder },
  log: (line) => process.stdout.write(`${line}\n`),
});
process.stdout.write(describe(report));
if (report.problems.length === 0) rmSync(folder, { recursive: true, force: true });
else {
  process.stdout.write(`the files are kept in ${folder}\n`);
  process.exitCode = 1;
}

function describe(found: ClusterReport): string {
  const { sent, answered, refused, slowestMs, repeated, perSecond, takeoverMs, restMs, entries, problems } =
    found;
  const seconds_ = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  return [
    '',
    `deliveries    ${sent} sent, ${perSecond.toFixed(0)} a second; ${answered} answered 204, ${refused} not; the slowest answer took ${slowestMs.toFixed(0)} ms`,
    `balancer      ${repeated} were offered to a second receiver`,
    `lead          taken over after ${takeoverMs.map(seconds_).join(', ')}`,
    `at rest       ${restMs === null ? 'not' : `${seconds_(restMs)} after the last delivery`}, ${entries} entries`,
    problems.length === 0
      ? 'every answered delivery is in each replica’s event log; all replicas are equal, row by row, and equal to the store'
      : problems.map((problem) => `PROBLEM       ${problem}`).join('\n'),
    '',
  ].join('\n');
}
