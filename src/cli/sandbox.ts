import { once } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { messageOf } from '../platform/thrown.ts';
import { parseFields } from '../sandbox/api/request-body.ts';
import { faultsSchema, setFaults } from '../sandbox/control/faults.ts';
import type { DeliveryRecord } from '../sandbox/network/deliveries.ts';
import { startSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { decimal, webUrl, whole } from './shared/flags.ts';
import { interruptible } from './shared/interrupt.ts';

interface SandboxOptions {
  readonly port: number;
  readonly products: number;
  readonly rate: number;
  readonly seed: number;
  readonly webhookUrl: string;
  readonly faults: z.output<typeof faultsSchema>;
}

const LINES_PER_SECOND = 10;
const FAULTS = Object.keys(faultsSchema.shape).join(', ');
const SEED_TEXT = 'the same seed gives the same catalogue, operations and faults';

export function createCommand(): Command {
  const command = new Command('sandbox')
    .option('--port <port>', 'port on 127.0.0.1; 0 for any free one', whole(0, 65_535), 8790)
    .option('--products <count>', 'products in the catalogue', whole(1, 1_000_000), 50)
    .option('--rate <changes>', 'stock changes per second; 0 for none', decimal(0, 10_000), 2)
    .option('--seed <number>', SEED_TEXT, whole(0, 4_294_967_295), 1)
    .option('--webhook-url <url>', 'the receiver of webhooks', webUrl, 'http://127.0.0.1:8787/webhooks')
    .option('--faults <json>', 'faults of the network and of the store', faults, {})
    .action(runSandbox);
  return explained(command, {
    notes: `
While it runs, faults can be changed by POST /sandbox/faults, which takes the same JSON as --faults. Its
fields: ${FAULTS}. GET /sandbox/faults shows their values.`,
    examples: [
      { what: 'a store with 50 products and two changes a second', run: 'stock-mirror sandbox' },
      {
        what: 'a bad network: webhooks are lost, duplicated and late',
        run: `stock-mirror sandbox --faults '{"loss": 0.1, "duplicate": 0.1, "delay_ms": {"min": 0, "max": 5000}}'`,
      },
      {
        what: 'the same store each time, without random changes',
        run: 'stock-mirror sandbox --seed 7 --rate 0',
      },
    ],
  });
}

async function runSandbox(options: SandboxOptions): Promise<void> {
  const { port, rate } = options;
  const sandbox = await startSandbox(options).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause;
    throw new Error(`port ${port} on 127.0.0.1 is already in use: choose another one with --port`);
  });
  setFaults(sandbox, options.faults);
  write(intro(sandbox, options));
  const reporter = reportDeliveries(sandbox);
  sandbox.traffic.start(rate);

  process.once('SIGINT', () => (process.exitCode = EXIT.interrupted));
  await once(interruptible(), 'abort');
  clearInterval(reporter);
  await sandbox.stop();
}

function intro(sandbox: Sandbox, { products, seed, rate, webhookUrl }: SandboxOptions): string {
  const { baseUrl } = sandbox;
  return `${colours.bold(`Simulated store on ${baseUrl}`)} (${products} products, seed ${seed}, ${rate} changes/s)
Webhooks: ${webhookUrl}
Control:  ${baseUrl}/sandbox/
Ctrl-C ends it.

SERVICE_BASE_URL=${baseUrl}
SERVICE_CLIENT_ID=${sandbox.clientId}
SERVICE_CLIENT_SECRET=${sandbox.clientSecret}
SERVICE_WEBHOOK_SECRET=${sandbox.webhookSecret}
`;
}

/** Prints a line per webhook; above a readable rate, counts the rest once a second. */
function reportDeliveries(sandbox: Sandbox): NodeJS.Timeout {
  let settled = 0;
  sandbox.deliveries.onSettled((record) => {
    if (++settled <= LINES_PER_SECOND) write(line(record));
  });
  return setInterval(() => {
    if (settled > LINES_PER_SECOND) write(colours.dim(`  … and ${settled - LINES_PER_SECOND} more`));
    settled = 0;
  }, 1_000);
}

function line({ delivery, outcome, status, ms, duplicate }: DeliveryRecord): string {
  const [first, ...others] = delivery.items;
  const change = first === undefined ? '' : `${first.reason} ${first.id} ${first.old}→${first.new}`;
  const more = others.length > 0 ? ` +${others.length}` : '';
  const isAcknowledged = outcome === 'answered' && status !== null && status <= 299;
  const paint = isAcknowledged ? colours.green : outcome === 'lost' ? colours.yellow : colours.red;
  const fate = paint(outcome === 'answered' ? `${status} ${Math.round(ms ?? 0)} ms` : outcome);
  return `${delivery.requestId}  ${fate}${duplicate ? colours.yellow(' duplicate') : ''}  ${colours.dim(change + more)}`;
}

function faults(value: string): z.output<typeof faultsSchema> {
  let json: unknown;
  try {
    json = JSON.parse(value);
  } catch {
    throw new InvalidArgumentError('It must be JSON such as {"loss": 0.1}.');
  }
  try {
    return parseFields(faultsSchema, json as object);
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}. The fields are ${FAULTS}.`);
  }
}

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}
