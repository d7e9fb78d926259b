import { once } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { DeliveryRecord } from '../sandbox/network/deliveries.ts';
import { colours } from './shared/colours.ts';
import { explained } from './shared/explained.ts';
import { decimal, whole } from './shared/flags.ts';

type SandboxCommandOptions = {
  port: number;
  products: number;
  /** Changes per second. */
  rate: number;
  seed: number;
  webhookUrl: string;
  mirrorUrl: string;
  loss: number;
  duplicate: number;
  reorder: number;
  /** The longest delay of a delivery, ms. */
  delay: number;
  stale: number;
  fail: number;
  lostAnswer: number;
  accessDenied?: boolean;
  quotaExceeded?: boolean;
  /** How far the store's clock is ahead of this machine's, ms. */
  clockOffset: number;
};

/** More lines a second are not readable; the rest are counted. */
const LINES_PER_SECOND = 10;

/** `stock-mirror sandbox`: a simulated store, until Ctrl-C or SIGTERM. */
export function sandboxCommand(): Command {
  const command = new Command('sandbox')
    .option('--port <port>', 'port on 127.0.0.1; 0 for any free one', whole(0, 65_535), 8790)
    .option('--products <count>', 'products in the catalogue', whole(1, 1_000_000), 50)
    .option('--rate <changes>', 'stock changes per second; 0 for none', decimal(0, 10_000), 2)
    .option(
      '--seed <number>',
      'the same seed gives the same catalogue, operations and faults',
      whole(0, 4_294_967_295),
      1,
    )
    .option(
      '--webhook-url <url>',
      'where webhooks are sent; empty for nowhere',
      url,
      'http://127.0.0.1:8787/webhooks',
    )
    .option(
      '--mirror-url <url>',
      'the mirror’s page, for links to its rows; empty for none',
      url,
      'http://127.0.0.1:8788/',
    )
    .option('--loss <probability>', 'probability that a webhook is lost', decimal(0, 1), 0)
    .option('--duplicate <probability>', 'probability that a webhook is sent twice', decimal(0, 1), 0)
    .option('--reorder <probability>', 'probability that later webhooks overtake one', decimal(0, 1), 0)
    .option('--delay <ms>', 'longest delay of a webhook', whole(0, 3_600_000), 0)
    .option('--stale <probability>', 'probability that a product detail is 2 s old', decimal(0, 1), 0)
    .option(
      '--fail <probability>',
      'probability that a /v1 request, orders included, does nothing and answers 500',
      decimal(0, 1),
      0,
    )
    .option(
      '--lost-answer <probability>',
      'probability that a /v1 request is carried out, but its answer is cut off',
      decimal(0, 1),
      0,
    )
    .option('--access-denied', 'orders and addresses answer 403 access_denied')
    .option('--quota-exceeded', 'new orders answer 403 quota_exceeded')
    .option(
      '--clock-offset <ms>',
      'how far the store’s clock is ahead',
      whole(-31_536_000_000, 31_536_000_000),
      0,
    )
    .action(async (options: SandboxCommandOptions) => {
      await runSandbox(options);
    });
  return explained(command, {
    examples: [
      { what: 'a store with 50 products and two changes a second', run: 'stock-mirror sandbox' },
      {
        what: 'a bad network: webhooks are lost, doubled and late',
        run: 'stock-mirror sandbox --loss 0.1 --duplicate 0.1 --delay 5000',
      },
      {
        what: 'the same store each time, without changes of its own',
        run: 'stock-mirror sandbox --seed 7 --rate 0',
      },
    ],
  });
}

/** Runs until a signal; then `process.exitCode` is 130 after Ctrl-C, else unchanged. Rejects when the port is in use. */
async function runSandbox(options: SandboxCommandOptions): Promise<void> {
  const sandbox = await start(options);
  sandbox.network.loss = options.loss;
  sandbox.network.duplicate = options.duplicate;
  sandbox.network.reorder = options.reorder;
  sandbox.network.delayMs = { min: 0, max: options.delay };
  sandbox.reads.stale.probability = options.stale;
  sandbox.reads.fail.serverError = options.fail;
  sandbox.reads.fail.lostAnswer = options.lostAnswer;
  sandbox.access.accessDenied = options.accessDenied === true;
  sandbox.access.quotaExceeded = options.quotaExceeded === true;

  write(intro(sandbox, options));
  const reporter = reportDeliveries(sandbox);
  sandbox.traffic.start(options.rate);

  const signal = await endingSignal();
  clearInterval(reporter);
  await sandbox.stop();
  if (signal === 'SIGINT') process.exitCode = 130;
}

async function start(options: SandboxCommandOptions): Promise<Sandbox> {
  try {
    return await startSandbox({
      port: options.port,
      products: options.products,
      seed: options.seed,
      webhookUrl: options.webhookUrl,
      mirrorUrl: options.mirrorUrl === '' ? null : options.mirrorUrl,
      clockOffsetMs: options.clockOffset,
    });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause;
    throw new Error(
      `port ${options.port} on 127.0.0.1 is already in use by another program; choose another one with --port`,
      {
        cause,
      },
    );
  }
}

function intro(sandbox: Sandbox, options: SandboxCommandOptions): string {
  const target = options.webhookUrl === '' ? 'nowhere' : options.webhookUrl;
  return [
    colours.bold(`Simulated store on ${sandbox.baseUrl}`) +
      ` (${options.products} products, seed ${options.seed}, ${options.rate} changes/s)`,
    `Page:     ${sandbox.baseUrl}/`,
    `OpenAPI:  ${sandbox.baseUrl}/openapi.json`,
    `Webhooks: ${target}`,
    `Control:  ${sandbox.baseUrl}/sandbox/`,
    'Ctrl-C ends it.',
    '',
    `SERVICE_BASE_URL=${sandbox.baseUrl}`,
    `SERVICE_CLIENT_ID=${sandbox.clientId}`,
    `SERVICE_CLIENT_SECRET=${sandbox.clientSecret}`,
    `SERVICE_WEBHOOK_SECRET=${sandbox.webhookSecret}`,
    '',
  ].join('\n');
}

/** A line per webhook; above a readable rate, the rest are counted once a second. */
function reportDeliveries(sandbox: Sandbox): NodeJS.Timeout {
  let lines = 0;
  let more = 0;
  sandbox.deliveries.onSettled((record) => {
    if (lines >= LINES_PER_SECOND) more += 1;
    else {
      lines += 1;
      write(line(record));
    }
  });
  return setInterval(() => {
    if (more > 0) write(colours.dim(`  … and ${more} more`));
    lines = 0;
    more = 0;
  }, 1_000);
}

function line(record: DeliveryRecord): string {
  const { delivery, outcome, status } = record;
  const [first, ...others] = delivery.items;
  const what =
    first === undefined
      ? ''
      : `${first.reason} ${first.id} ${first.old}→${first.new}${others.length > 0 ? ` +${others.length}` : ''}`;
  const acknowledged = status !== null && status >= 200 && status < 300;
  const fate =
    outcome === 'answered'
      ? (acknowledged ? colours.green : colours.red)(`${status} ${Math.round(record.ms ?? 0)} ms`)
      : (outcome === 'lost' ? colours.yellow : colours.red)(outcome);
  return `${delivery.requestId}  ${fate}${record.duplicate ? colours.yellow(' duplicate') : ''}  ${colours.dim(what)}`;
}

async function endingSignal(): Promise<'SIGINT' | 'SIGTERM'> {
  const done = new AbortController();
  const signals = (['SIGINT', 'SIGTERM'] as const).map(async (signal) => {
    await once(process, signal, { signal: done.signal });
    return signal;
  });
  const first = await Promise.race(signals);
  // The loser of the race only rejects with the abort below.
  done.abort();
  await Promise.allSettled(signals);
  return first;
}

function url(value: string): string {
  if (value === '') return value;
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) {
    throw new InvalidArgumentError('Give an http(s) address, or nothing.');
  }
  return value;
}

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}
