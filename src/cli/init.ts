/** `stock-mirror init`: asks for the settings, writes `.env`, and tries them. */
import { chmodSync, existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { loadConfig, problemOf, setByEnvironment, type Config } from '../config/config.ts';
import { VARIABLES, type Variable, type VariableName } from '../config/variables.ts';
import { dotenvText } from '../config/write-dotenv.ts';
import { messageOf } from '../platform/thrown.ts';
import { describeCheck, fail, ok, warn, type Check } from './doctor/check.ts';
import { checkService } from './doctor/service.ts';
import { whileListening } from './init/listener.ts';
import { ask } from './init/prompt.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { urlOf } from './shared/listener-url.ts';
import { deliveryOf, sendSigned } from './shared/signed-webhook.ts';

interface InitOptions {
  readonly baseUrl?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly webhookSecretFile?: string;
  readonly database?: string;
  readonly port?: string;
  readonly force?: boolean;
  readonly check: boolean;
}

interface Question {
  readonly variable: VariableName;
  readonly flag: string;
  readonly words: string;
  /** What the flag has given; undefined: nothing. */
  readonly given: (options: InitOptions) => string | undefined;
}

const QUESTIONS: readonly Question[] = [
  {
    variable: 'SERVICE_BASE_URL',
    flag: '--base-url',
    words: "Base address of the store's API",
    given: ({ baseUrl }) => baseUrl,
  },
  {
    variable: 'SERVICE_CLIENT_ID',
    flag: '--client-id',
    words: 'Client id',
    given: ({ clientId }) => clientId,
  },
  {
    variable: 'SERVICE_CLIENT_SECRET',
    flag: '--client-secret-file',
    words: 'Client secret (not shown)',
    given: ({ clientSecretFile }) => contentOf(clientSecretFile),
  },
  {
    variable: 'SERVICE_WEBHOOK_SECRET',
    flag: '--webhook-secret-file',
    words: 'Secret of the webhook signature (not shown)',
    given: ({ webhookSecretFile }) => contentOf(webhookSecretFile),
  },
  {
    variable: 'DATABASE_PATH',
    flag: '--database',
    words: 'Database file',
    given: ({ database }) => database,
  },
  { variable: 'PORT', flag: '--port', words: 'Port for webhooks', given: ({ port }) => port },
];

const REACHED_WITHIN_MS = 5_000;

export function initCommand(): Command {
  const command = new Command('init')
    .option('--base-url <url>', "the base address of the store's API")
    .option('--client-id <id>', 'the OAuth client id')
    .option(
      '--client-secret-file <path>',
      'a file with the OAuth client secret: its content is written into .env',
    )
    .option('--webhook-secret-file <path>', 'a file with the secret of the webhook signature, likewise')
    .option('--database <path>', 'the database file; its folder is created when the mirror starts')
    .option('--port <port>', 'the port on which webhooks arrive')
    .option('--force', 'replace an existing .env; the old one is kept beside it')
    .option('--no-check', 'write .env, and try nothing')
    .action(async (options: InitOptions, command: Command) => {
      process.exitCode = await init(options, command);
    });
  return explained(command, {
    notes: `
It writes .env in this folder, readable for its owner only. On a terminal it asks for what no flag gives; elsewhere the flags must
give the address, the id and both secrets. An existing .env is replaced only when you say so, and kept under another name.

Then it tries the settings: whether the store can be reached and accepts the credentials, once; and whether a signed test
webhook is accepted, by the mirror that runs on this port, or else by a listener that is started for it and stopped again.
Exit code 1 when one of them fails; .env is written all the same.`,
    examples: [
      { what: 'asked step by step', run: 'stock-mirror init' },
      {
        what: 'by a script',
        run: 'stock-mirror init --base-url https://store.example --client-id app-1 --client-secret-file client.txt --webhook-secret-file webhook.txt',
      },
    ],
  });
}

async function init(options: InitOptions, command: Command): Promise<number> {
  const path = join(process.cwd(), '.env');
  const isAsking = process.stdin.isTTY && process.stdout.isTTY;
  const mayReplace = await maySetUp(path, options, { isAsking });
  if (mayReplace === null) return EXIT.interrupted;
  if (!mayReplace) {
    process.stderr.write(
      `error: ${path} exists: nothing was written; --force replaces it, and keeps the old one\n`,
    );
    return EXIT.failed;
  }
  const values = new Map<VariableName, string>();
  for (const question of QUESTIONS) {
    const value = await valueOf(question, options, command, { isAsking });
    if (value === null) {
      process.stderr.write('\nstopped; nothing was written\n');
      return EXIT.interrupted;
    }
    const { default: byDefault }: Variable = VARIABLES[question.variable];
    if (value !== byDefault) values.set(question.variable, value);
  }
  const kept = writePrivately(path, dotenvText(values));
  if (kept !== null) process.stdout.write(`the old settings are in ${kept}\n`);
  process.stdout.write(`${path} is written, readable for this user only\n`);
  const hidden = setByEnvironment(values.keys());
  if (hidden.length > 0) {
    process.stdout.write(`note: the environment sets ${hidden.join(', ')} too, and wins over .env\n`);
  }
  const config = loadConfig();
  const checks = options.check ? await tryOut(config) : [];
  process.stdout.write(checks.map(describeCheck).join(''));
  process.stdout.write(
    `next: stock-mirror serve, and have the store send its webhooks to port ${config.webhook.port} of this machine, path /webhooks\n`,
  );
  return checks.some(({ status }) => status === 'fail') ? EXIT.failed : EXIT.done;
}

/** @returns null by Ctrl-C. */
async function maySetUp(
  path: string,
  { force }: InitOptions,
  { isAsking }: { readonly isAsking: boolean },
): Promise<boolean | null> {
  if (!existsSync(path) || force === true) return true;
  if (!isAsking) return false;
  const answer = await ask(`${path} exists. Replace it? The old one is kept beside it. [y/N] `, {
    isSecret: false,
  });
  return answer === null ? null : /^y(es)?$/i.test(answer.trim());
}

/** @returns null by Ctrl-C. */
async function valueOf(
  { variable, flag, words, given }: Question,
  options: InitOptions,
  command: Command,
  { isAsking }: { readonly isAsking: boolean },
): Promise<string | null> {
  const { default: byDefault, remedy, fromFile }: Variable = VARIABLES[variable];
  const value = given(options) ?? (isAsking ? undefined : byDefault);
  if (value !== undefined) {
    const fault = problemOf(variable, value);
    if (fault !== null) command.error(`error: ${flag}: ${fault.name} ${fault.problem}. ${fault.remedy}`);
    return value;
  }
  if (!isAsking) command.error(`error: ${flag} is missing, and there is no terminal to ask at. ${remedy}`);
  const shown = byDefault === undefined ? '' : ` [${byDefault}]`;
  for (;;) {
    const typed = await ask(`${words}${shown}: `, { isSecret: fromFile === true });
    if (typed === null) return null;
    const answer = typed.trim() === '' ? (byDefault ?? '') : typed.trim();
    const fault = problemOf(variable, answer);
    if (fault === null) return answer;
    process.stdout.write(`  it ${fault.problem}. ${fault.remedy}\n`);
  }
}

/** As `_FILE` variables are read: without the line break at its end. */
function contentOf(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new Error(`${path} cannot be read`, { cause: error });
  }
}

/** Whole or not at all, and never in place of a file that is not kept. @returns where the old one is now. */
function writePrivately(path: string, text: string): string | null {
  const draft = `${path}.${process.pid}.draft`;
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
  try {
    // Whatever the umask says.
    chmodSync(draft, 0o600);
    let kept = null;
    if (existsSync(path)) {
      kept = `${path}.before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
      renameSync(path, kept);
    }
    // Fails where another program has just written one.
    linkSync(draft, path);
    return kept;
  } finally {
    rmSync(draft, { force: true });
  }
}

async function tryOut(config: Config): Promise<Check[]> {
  return [...(await tryStore(config)), await tryWebhook(config)];
}

async function tryStore(config: Config): Promise<readonly Check[]> {
  const { baseUrl } = config.service;
  try {
    // Whatever it answers: it is there.
    await fetch(baseUrl, { redirect: 'manual', signal: AbortSignal.timeout(REACHED_WITHIN_MS) });
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return [
      warn(
        'store',
        `${baseUrl} cannot be reached from here now (${messageOf(cause)}): the credentials were not tried`,
        '`stock-mirror doctor` tries them later',
      ),
    ];
  }
  return checkService(config);
}

async function tryWebhook(config: Config): Promise<Check> {
  try {
    const running = await runningUrl(config);
    if (running !== null) return await tryOne(running, 'the running mirror', config);
    return await whileListening(config, (url) => tryOne(url, 'a listener started for it', config));
  } catch (error) {
    return fail('webhook', messageOf(error), 'free the port, or choose another one with --port');
  }
}

async function tryOne(url: string, by: string, { service }: Config): Promise<Check> {
  const secret = service.webhookSecrets[0].reveal();
  const { status, tookMs, isAcknowledged } = await sendSigned(url, deliveryOf([], Date.now()), secret);
  const what = `a signed test webhook was answered ${status} in ${tookMs} ms by ${by} at ${url}`;
  if (isAcknowledged) return ok('webhook', `accepted: ${what}`);
  const remedy =
    status === 401
      ? 'the mirror that runs there has another SERVICE_WEBHOOK_SECRET: start it again with this .env'
      : 'look at the log output of the mirror, and at the disk';
  return fail('webhook', `not accepted: ${what}`, remedy);
}

/** @returns null when no mirror answers there. */
async function runningUrl({ webhook }: Config): Promise<string | null> {
  const health = urlOf(webhook, '/healthz');
  if (health === null) return null;
  try {
    const response = await fetch(health, { signal: AbortSignal.timeout(REACHED_WITHIN_MS) });
    const { status } = (await response.json()) as { readonly status?: unknown };
    return status === 'ok' ? urlOf(webhook, '/webhooks') : null;
  } catch {
    return null;
  }
}
