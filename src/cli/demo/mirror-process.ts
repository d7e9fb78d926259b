/** The real service as a child process, as a person would start it, with its log read line by line. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Sandbox } from '../../sandbox/sandbox.ts';

export interface MirrorProcess {
  readonly webhookUrl: string;
  readonly opsUrl: string;
  kill(signal: NodeJS.Signals): Promise<void>;
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface MirrorProcessOptions {
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly databasePath: string;
  /** 0 takes free ones. */
  readonly port: number;
  readonly opsPort: number;
  readonly onLog: (line: LogLine) => void;
  /** Told when the process ends without having been asked to. */
  readonly onDeath: (message: string) => void;
}

const START_WITHIN_MS = 15_000;
const isSource = import.meta.url.endsWith('.ts');
const ENTRY = fileURLToPath(new URL(isSource ? '../../main.ts' : '../../main.js', import.meta.url));

/** @throws Error when it does not listen in time. */
export async function startMirror(options: MirrorProcessOptions): Promise<MirrorProcess> {
  const { sandbox, folder, databasePath, onLog, onDeath } = options;
  const child = spawn(process.execPath, [ENTRY], {
    // A folder of its own, so that no .env of the caller's takes part.
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C at the terminal is for the demo, which ends its mirror in order.
    detached: true,
    env: {
      SERVICE_BASE_URL: sandbox.baseUrl,
      SERVICE_CLIENT_ID: sandbox.clientId,
      SERVICE_CLIENT_SECRET: sandbox.clientSecret,
      SERVICE_WEBHOOK_SECRET: sandbox.webhookSecret,
      DATABASE_PATH: databasePath,
      PORT: String(options.port),
      OPS_PORT: String(options.opsPort),
      RECONCILE_CRON: 'off',
      RESYNC_CRON: 'off',
      LOG_LEVEL: 'debug',
    },
  });
  let expected = false;
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.on('exit', (code, signal) => {
    if (!expected) onDeath(`the mirror ended by itself (${signal ?? `exit code ${code}`}) ${errors.trim()}`);
  });
  // Should the demo itself be ended hard, its mirror must not live on.
  const endWithParent = (): void => void child.kill('SIGKILL');
  process.once('exit', endWithParent);

  const listening = await firstListening(child, onLog, () => errors);
  return {
    ...listening,
    async kill(signal): Promise<void> {
      expected = true;
      process.off('exit', endWithParent);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    },
  };
}

async function firstListening(
  child: ChildProcess,
  onLog: (line: LogLine) => void,
  errors: () => string,
): Promise<Pick<MirrorProcess, 'webhookUrl' | 'opsUrl'>> {
  const { promise, resolve, reject } = Promise.withResolvers<Pick<MirrorProcess, 'webhookUrl' | 'opsUrl'>>();
  const late = setTimeout(() => reject(new Error('the mirror does not listen')), START_WITHIN_MS);
  child.once('exit', (code) =>
    reject(new Error(`the mirror did not start (exit code ${code}): ${errors().trim()}`)),
  );
  if (child.stdout === null) throw new Error('the mirror has no output to read');
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = parse(text);
    if (line === null) return;
    if (line.msg === 'listening')
      resolve({ webhookUrl: String(line['webhooks']), opsUrl: String(line['ops']) });
    onLog(line);
  });
  try {
    return await promise;
  } finally {
    clearTimeout(late);
  }
}

function parse(text: string): LogLine | null {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return null;
  }
}
