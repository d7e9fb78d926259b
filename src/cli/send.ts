/** `stock-mirror send`: one signed webhook to the mirror, as the store would send it, and the answer. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { loadConfig, type Config } from '../config/config.ts';
import { fetchDirectly, fetchThroughProxy } from '../platform/proxy.ts';
import { visible } from '../platform/visible.ts';
import { STOCK_AVAILABLE_UPDATED } from '../store-api/contract/schemas.ts';
import { signBody } from '../store-api/signature.ts';
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
/** The store takes a 2xx for an acknowledgement only within this time (docs/store-api.md#delivery-rules, 1). */
const ACKNOWLEDGED_WITHIN_MS = 1_000;
const TIMEOUT_MS = 10_000;

export function sendCommand(): Command {
  const command = new Command('send')
    .option(
      '--variant <id>',
      'a stock change of this variant; without it the delivery holds no change',
      digits,
    )
    .option('--warehouse <id>', 'its warehouse', digits)
    .option('--old <number>', 'available before', LEVEL)
    .option('--new <number>', 'available after', LEVEL)
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
  if (url === null) {
    command.error('error: PORT is 0, a different port at each start: name the address with --url');
  }
  const fetch = options.url === undefined ? fetchDirectly : fetchThroughProxy;
  const startedAtMs = performance.now();
  const { status, ok, text } = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      'content-type': 'application/json',
      'x-service-signature': signBody(secret.reveal(), body),
      // The store's, so that a firewall treats both alike.
      'user-agent': 'service-webhook/1.0',
    },
    body,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
    .then(async (answer) => ({ status: answer.status, ok: answer.ok, text: await answer.text() }))
    .catch((cause: unknown) => {
      const remedy = 'is the mirror running, and are HOST and PORT, or --url, right?';
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
  if (ok && !acknowledged) process.stderr.write('later than a second: the store would not count it\n');
  if (ok) process.stderr.write(warningOf(options));
  return acknowledged ? EXIT.done : EXIT.failed;
}

function bodyOf(options: SendOptions, command: Command): Buffer {
  const { variant, warehouse, old, new: level, file } = options;
  const values = { '--variant': variant, '--warehouse': warehouse, '--old': old, '--new': level };
  const isChange = Object.values(values).some((value) => value !== undefined);
  if (file !== undefined) {
    if (isChange) command.error('error: --file sends its own values: leave out the others');
    try {
      return readFileSync(file === '-' ? 0 : file);
    } catch (cause) {
      throw new Error(`--file ${file} cannot be read`, { cause });
    }
  }
  const missing = Object.entries(values).filter(([, value]) => value === undefined);
  if (isChange && missing.length > 0) {
    command.error(`error: a change needs ${missing.map(([name]) => name).join(', ')} too`);
  }
  const nowMs = Date.now();
  const change = {
    ...{ id: variant, sku: '', old, new: level, warehouse_id: warehouse },
    ...{ update_time: nowMs, reason: 'user_set' },
  };
  const envelope = {
    request_id: `test-${randomUUID()}`,
    // An event of an unknown type would make the mirror read products to find out its meaning.
    event_type: STOCK_AVAILABLE_UPDATED,
    request_time: nowMs,
    data: { items: isChange ? [change] : [] },
  };
  return Buffer.from(JSON.stringify(envelope));
}

/** @returns nothing for a delivery that changes nothing. */
function warningOf({ variant, warehouse, new: level, file }: SendOptions): string {
  const untilRead = 'until it reads the product; `stock-mirror resync --product <id>` makes it do so\n';
  if (file !== undefined) return `if the file holds changes, the mirror believes them ${untilRead}`;
  if (variant === undefined) return '';
  return `the mirror now shows ${level} as the stock level of variant ${variant} in warehouse ${warehouse}, true or not, ${untilRead}`;
}
