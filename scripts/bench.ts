/**
 * `npm run bench`: durable deliveries per second against the same HTTP server without a store, in alternating rounds
 * of one run, so that the ratio holds when the machine's speed drifts.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startSandbox } from '../src/sandbox/sandbox.ts';
import { makeDeliveries, sendAll, type Outcome } from './bench/load.ts';

const ROUNDS = 5;
const PER_ROUND = 10_000;
const CONNECTIONS = 64;
const CELLS = 10_000;

async function listening(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('no output to read');
  for await (const text of createInterface({ input: child.stdout })) {
    const line = JSON.parse(text) as { msg: string; webhooks?: string };
    if (line.msg === 'listening' && line.webhooks !== undefined) return line.webhooks;
  }
  throw new Error('the server ended before it listened');
}

function start(args: string[], env: NodeJS.ProcessEnv, cwd: string): ChildProcess {
  return spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

const folder = await mkdtemp(join(tmpdir(), 'stock-mirror-bench-'));
const sandbox = await startSandbox({ products: 10 });
const here = import.meta.dirname;
const mirror = start(
  [join(here, '../src/main.ts')],
  {
    SERVICE_BASE_URL: sandbox.baseUrl,
    SERVICE_CLIENT_ID: sandbox.clientId,
    SERVICE_CLIENT_SECRET: sandbox.clientSecret,
    SERVICE_WEBHOOK_SECRET: sandbox.webhookSecret,
    DATABASE_PATH: join(folder, 'mirror.db'),
    PORT: '0',
    OPS_PORT: '0',
    LOG_LEVEL: 'info',
  },
  folder,
);
const baseline = start([join(here, 'bench/baseline-server.ts'), sandbox.webhookSecret], {}, folder);
try {
  const [mirrorUrl, baselineUrl] = await Promise.all([listening(mirror), listening(baseline)]);
  mirror.stdout?.resume();
  const deliveries = makeDeliveries(PER_ROUND * ROUNDS, CELLS, sandbox.webhookSecret, 'bench');
  const outcomes: { mirror: Outcome; baseline: Outcome }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const part = deliveries.slice(round * PER_ROUND, (round + 1) * PER_ROUND);
    outcomes.push({
      baseline: await sendAll(baselineUrl, part, CONNECTIONS),
      mirror: await sendAll(mirrorUrl, part, CONNECTIONS),
    });
  }
  const rate = (who: 'mirror' | 'baseline') => median(outcomes.map((outcome) => outcome[who].perSecond));
  const ratio = median(outcomes.map((outcome) => outcome.mirror.perSecond / outcome.baseline.perSecond));
  const times = outcomes.flatMap((outcome) => outcome.mirror.answerMs).sort((a, b) => a - b);
  console.log(`${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`);
  console.log(`${ROUNDS} rounds of ${PER_ROUND} deliveries, ${CONNECTIONS} connections, ${CELLS} cells`);
  console.log(`durable deliveries per second   ${rate('mirror').toFixed(0)}`);
  console.log(`answered without a store        ${rate('baseline').toFixed(0)}`);
  console.log(`ratio, median of the rounds     ${ratio.toFixed(2)}`);
  const at = (q: number): string => quantile(times, q).toFixed(1);
  console.log(
    `answer times, ms                p50 ${at(0.5)}  p99 ${at(0.99)}  p99.9 ${at(0.999)}  max ${at(1)}`,
  );
} finally {
  mirror.kill('SIGKILL');
  baseline.kill('SIGKILL');
  await sandbox.stop();
  await rm(folder, { recursive: true, force: true });
}
