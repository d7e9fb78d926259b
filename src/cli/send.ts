import { randomUUID } from 'node:crypto';
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
import { webUrl } from './shared/flags.ts';
import { urlOf } from './shared/listener-url.ts';

interface SendOptions {
  readonly url?: string;
  readonly json?: boolean;
}

/** The store accepts a 2xx only within this time. */
const ACKNOWLEDGED_WITHIN_MS = 1_000;
const TIMEOUT_MS = 10_000;

export function createCommand(): Command {
  const command = new Command('send')
    .option('--url <url>', 'the address, without credentials, instead of HOST and PORT', webUrl)
    .option('--json', 'print the answer as JSON')
    .action(async (options: SendOptions, command: Command) => {
      process.exitCode = await send(options, command, loadConfig());
    });
  return explained(command, {
    notes: `
The webhook contains no change, so it changes no stock value. The mirror does not count it as the store's: it shows that the path
and the secret are right, and nothing about the store. Exit code 0: a 2xx answer came within a second, as the store requires.`,
    examples: [
      { what: 'to HOST and PORT', run: 'stock-mirror send' },
      {
        what: 'through the public address',
        run: 'stock-mirror send --url https://mirror.example/webhooks',
      },
    ],
  });
}

async function send(options: SendOptions, command: Command, config: Config): Promise<number> {
  const body = testWebhook();
  const [secret] = config.service.webhookSecrets;
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
  return acknowledged ? EXIT.done : EXIT.failed;
}

function testWebhook(): Buffer {
  const envelope = {
    request_id: `test-${randomUUID()}`,
    event_type: STOCK_AVAILABLE_UPDATED,
    request_time: Date.now(),
    data: { items: [] },
  };
  return Buffer.from(JSON.stringify(envelope));
}
