import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { loadConfig, type Config } from '../config/config.ts';
import { fetchDirectly, fetchThroughProxy } from '../platform/proxy.ts';
import { visible } from '../platform/visible.ts';
import { STOCK_AVAILABLE_UPDATED } from '../store-api/contract/schemas.ts';
import { signBody, TEST_HEADER } from '../store-api/signature.ts';
import { safeText } from '../store-api/transport/safe-text.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { digits, webUrl, whole } from './shared/flags.ts';
import { urlOf } from './shared/listener-url.ts';

interface SendOptions {
  readonly variant?: string;
  readonly warehouse?: string;
  readonly old?: number;
  readonly new?: number;
  readonly file?: string;
  readonly url?: string;
  readonly secretPrevious?: boolean;
  readonly json?: boolean;
}

const LEVEL = whole(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
/** The store accepts a 2xx only within this time (docs/store-api.md#delivery-rules, 1). */
const ACKNOWLEDGED_WITHIN_MS = 1_000;
const TIMEOUT_MS = 10_000;

export function createCommand(): Command {
  const command = new Command('send')
    .option(
      '--variant <id>',
      'the variant whose stock changes; without it, the webhook contains no change',
      digits,
    )
    .option('--warehouse <id>', 'the warehouse', digits)
    .option('--old <number>', 'available quantity before', LEVEL)
    .option('--new <number>', 'available quantity after', LEVEL)
    .option('--file <path>', 'send the bytes of this file instead; - is the standard input')
    .option('--url <url>', 'the address, without credentials, instead of HOST and PORT', webUrl)
    .option('--secret-previous', 'sign it with SERVICE_WEBHOOK_SECRET_PREVIOUS')
    .option('--json', 'print the answer as JSON')
    .action(async (options: SendOptions, command: Command) => {
      process.exitCode = await send(options, command, loadConfig());
    });
  return explained(command, {
    notes: `
A webhook without a change is received, and changes no stock value. A change is believed until the mirror next reads the
product: run \`stock-mirror resync --product\`. The mirror does not count these webhooks as the store's. Exit code 0: a 2xx
answer came within a second, as the store requires.`,
    examples: [
      {
        what: 'a webhook without a change, by way of the public address',
        run: 'stock-mirror send --url https://mirror.example/webhooks',
      },
      {
        what: 'a change, believed until the product is read',
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
  if (url === null) {
    command.error('error: PORT is 0, so each start takes another port: give the address with --url');
  }
  const fetch = options.url === undefined ? fetchDirectly : fetchThroughProxy;
  const startedAtMs = performance.now();
  const { status, ok, text } = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      'content-type': 'application/json',
      'x-service-signature': signBody(secret.reveal(), body),
      // The store's agent, so that a firewall treats both alike.
      'user-agent': 'service-webhook/1.0',
      [TEST_HEADER]: '1',
    },
    body,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
    .then(async (answer) => ({ status: answer.status, ok: answer.ok, text: await answer.text() }))
    .catch((cause: unknown) => {
      const remedy = 'check that the mirror runs, and that HOST and PORT, or --url, are right';
      throw new Error(`no answer from ${url}: ${remedy}`, { cause });
    });
  const tookMs = Math.round((performance.now() - startedAtMs) * 10) / 10;
  const acknowledged = ok && tookMs <= ACKNOWLEDGED_WITHIN_MS;
  const answer = safeText(text, []);
  if (options.json === true) {
    const printed = { url, bytes: body.byteLength, status, took_ms: tookMs, acknowledged, answer };
    process.stdout.write(`${JSON.stringify(printed)}\n`);
  } else {
    const paint = acknowledged ? colours.green : colours.red;
    process.stdout.write(`${paint(String(status))} in ${tookMs} ms from ${url}\n`);
    if (answer !== '') process.stdout.write(`${visible(answer)}\n`);
  }
  if (ok && !acknowledged)
    process.stderr.write('the answer took more than a second: the store would not accept it\n');
  if (ok) process.stderr.write(warningOf(options));
  return acknowledged ? EXIT.done : EXIT.failed;
}

function bodyOf(options: SendOptions, command: Command): Buffer {
  const { variant, warehouse, old, new: level, file } = options;
  const values = { '--variant': variant, '--warehouse': warehouse, '--old': old, '--new': level };
  const isChange = Object.values(values).some((value) => value !== undefined);
  if (file !== undefined) {
    if (isChange) command.error(`error: --file cannot be combined with ${Object.keys(values).join(', ')}`);
    try {
      return readFileSync(file === '-' ? 0 : file);
    } catch (cause) {
      throw new Error(`--file ${file} cannot be read`, { cause });
    }
  }
  const missing = Object.entries(values).filter(([, value]) => value === undefined);
  if (isChange && missing.length > 0) {
    command.error(`error: a change also needs ${missing.map(([name]) => name).join(', ')}`);
  }
  const nowMs = Date.now();
  const change = {
    id: variant,
    sku: '',
    old,
    new: level,
    warehouse_id: warehouse,
    update_time: nowMs,
    reason: 'user_set',
  };
  const envelope = {
    request_id: `test-${randomUUID()}`,
    event_type: STOCK_AVAILABLE_UPDATED,
    request_time: nowMs,
    data: { items: isChange ? [change] : [] },
  };
  return Buffer.from(JSON.stringify(envelope));
}

function warningOf({ variant, warehouse, new: level, file }: SendOptions): string {
  const untilRead = 'until the product is read: run `stock-mirror resync --product <id>`\n';
  if (file !== undefined) return `if the file contains changes, the mirror shows them ${untilRead}`;
  if (variant === undefined) return '';
  return `the mirror shows ${level} for variant ${variant} in warehouse ${warehouse} ${untilRead}`;
}
