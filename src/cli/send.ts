/** `stock-mirror send`: one signed webhook to the mirror, as the store would send it, and the answer. */
import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { loadConfig, type Config } from '../config/config.ts';
import { fetchDirectly, fetchThroughProxy } from '../platform/proxy.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { whole } from './shared/flags.ts';
import { urlOf } from './shared/listener-url.ts';
import { deliveryOf, sendSigned } from './shared/signed-webhook.ts';
import { visible } from '../platform/visible.ts';

interface SendOptions {
  readonly variant?: string;
  readonly warehouse?: string;
  readonly old?: number;
  readonly new?: number;
  readonly sku?: string;
  readonly reason?: string;
  readonly updateTime?: number;
  readonly file?: string;
  readonly url?: string;
  readonly secretPrevious?: boolean;
  readonly json?: boolean;
}

const LEVEL = whole(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

export function sendCommand(): Command {
  const command = new Command('send')
    .option('--variant <id>', 'a stock change of this variant; without it the delivery holds no change', id)
    .option('--warehouse <id>', 'its warehouse', id)
    .option('--old <number>', 'available before', LEVEL)
    .option('--new <number>', 'available after', LEVEL)
    .option('--sku <text>', 'its SKU')
    .option('--reason <code>', 'why it changed (default: user_set)')
    .option('--update-time <ms>', 'when it changed, epoch ms (default: now)', whole(0, 8_640_000_000_000_000))
    .option('--file <path>', 'send exactly the bytes of this file instead; - is the standard input')
    .option('--url <url>', 'send it to this address instead of HOST and PORT', webUrl)
    .option('--secret-previous', 'sign it with SERVICE_WEBHOOK_SECRET_PREVIOUS')
    .option('--json', 'print the answer as JSON')
    .action(async (options: SendOptions, command: Command) => {
      process.exitCode = await send(options, command, loadConfig());
    });
  return explained(command, {
    notes: `
Without values nothing in the mirror changes, except that it has received a delivery. With --variant, --warehouse,
--old and --new the mirror believes the change until it next reads the product: \`stock-mirror resync --product\`.
Exits 0 when the answer is a 2xx within a second, which is as long as the store waits.`,
    examples: [
      {
        what: 'a webhook without a change, the way that the store’s take',
        run: 'stock-mirror send --url https://mirror.example/webhooks',
      },
      {
        what: 'a change that the mirror believes until it reads the product',
        run: 'stock-mirror send --variant 123 --warehouse 1 --old 5 --new 4',
      },
      { what: 'the bytes of a file, signed', run: 'stock-mirror send --file webhook.json' },
    ],
  });
}

async function send(options: SendOptions, command: Command, config: Config): Promise<number> {
  const body = bodyOf(options, command);
  const secret = config.service.webhookSecrets[options.secretPrevious === true ? 1 : 0];
  if (secret === undefined) command.error('error: SERVICE_WEBHOOK_SECRET_PREVIOUS is not set');
  const url = options.url ?? urlOf(config.webhook, '/webhooks');
  if (url === null)
    command.error('error: PORT is 0, a different port at each start: name the address with --url');

  const fetch = options.url === undefined ? fetchDirectly : fetchThroughProxy;
  const answered = await sendSigned(fetch, url, body, secret.reveal());
  const { status, isOk, tookMs, isAcknowledged: acknowledged, text } = answered;

  if (options.json === true) {
    const answer = {
      url,
      bytes: body.byteLength,
      status,
      took_ms: tookMs,
      acknowledged,
      answer: text,
    };
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  } else {
    const paint = acknowledged ? colours.green : colours.red;
    process.stdout.write(`${paint(String(status))} in ${tookMs} ms from ${url}\n`);
    if (text !== '') process.stdout.write(`${visible(text)}\n`);
  }
  if (isOk && !acknowledged) process.stderr.write(`later than a second: the store would not count it\n`);
  const warning = isOk ? warningOf(options) : null;
  if (warning !== null) process.stderr.write(`${warning}\n`);
  return acknowledged ? EXIT.done : EXIT.failed;
}

function bodyOf(options: SendOptions, command: Command): Uint8Array {
  const { variant, warehouse, old, new: level, sku, reason, updateTime, file } = options;
  const values = { '--variant': variant, '--warehouse': warehouse, '--old': old, '--new': level };
  const more = { '--sku': sku, '--reason': reason, '--update-time': updateTime };
  const given = Object.values({ ...values, ...more }).filter((value) => value !== undefined).length;
  if (file !== undefined) {
    if (given > 0) command.error('error: --file sends its own values: leave out the others');
    return readBody(file);
  }
  const missing = Object.entries(values).filter(([, value]) => value === undefined);
  if (given > 0 && missing.length > 0) {
    command.error(`error: a change needs ${missing.map(([name]) => name).join(', ')} too`);
  }
  const nowMs = Date.now();
  const change = {
    id: variant,
    sku: sku ?? '',
    old,
    new: level,
    warehouse_id: warehouse,
    update_time: updateTime ?? nowMs,
    reason: reason ?? 'user_set',
  };
  return deliveryOf(given > 0 ? [change] : [], nowMs);
}

function readBody(file: string): Uint8Array {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    throw new Error(`--file ${file} cannot be read`, { cause: error });
  }
}

/** @returns null for a delivery that changes nothing. */
function warningOf({ variant, warehouse, new: level, file }: SendOptions): string | null {
  const untilRead = 'until it reads the product; `stock-mirror resync --product <id>` makes it do so';
  if (file !== undefined) return `if the file holds changes, the mirror believes them ${untilRead}`;
  if (variant === undefined) return null;
  return `the mirror now shows ${level} as the stock level of variant ${variant} in warehouse ${warehouse}, true or not, ${untilRead}`;
}

function id(value: string): string {
  if (!/^[0-9]+$/.test(value)) throw new InvalidArgumentError('An id has digits only.');
  return value;
}

function webUrl(value: string): string {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new InvalidArgumentError('It takes an address such as https://mirror.example/webhooks.');
  }
  return value;
}
