import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { programFile } from '../../platform/own-files.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { opsClient } from '../shared/ops-client.ts';

export type MirrorProcess = Awaited<ReturnType<typeof startMirror>>;

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly kind?: string;
}

interface MirrorProcessOptions {
  readonly sandbox: Sandbox;
  readonly folder: string;
  /** 0: any free port, also for `opsPort`. */
  readonly port: number;
  readonly opsPort: number;
  readonly onLog: (line: LogLine) => void;
  /** Called if the process ends without `kill` after it has begun to listen. */
  readonly onDeath: (error: Error) => void;
}

export const DATABASE = 'stock-mirror.db';

/** @throws Error if it ends before it listens. */
export async function startMirror(options: MirrorProcessOptions) {
  const { sandbox, folder, onLog, onDeath } = options;
  const child = spawn(process.execPath, [fileURLToPath(programFile('main'))], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C must not reach the mirror; the demo stops it.
    detached: true,
    env: {
      SERVICE_BASE_URL: sandbox.baseUrl,
      SERVICE_CLIENT_ID: sandbox.clientId,
      SERVICE_CLIENT_SECRET: sandbox.clientSecret,
      SERVICE_WEBHOOK_SECRET: sandbox.webhookSecret,
      DATABASE_PATH: DATABASE,
      PORT: String(options.port),
      OPS_PORT: String(options.opsPort),
      RECONCILE_CRON: 'off',
      RESYNC_CRON: 'off',
      LOG_LEVEL: 'debug',
    },
  });
  process.prependOnceListener('exit', () => child.kill('SIGKILL'));
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = Promise.withResolvers<Error>();
  child.once('close', (code, signal) => {
    const how = signal ?? `exit code ${code}`;
    ended.resolve(new Error(`the mirror ended unexpectedly (${how}) ${errors}`.trim()));
  });
  const listening = Promise.withResolvers<Record<'webhooks' | 'ops', string>>();
  void ended.promise.then(listening.reject);
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as LogLine & Record<'webhooks' | 'ops', string>;
    if (line.kind === 'listening') listening.resolve(line);
    onLog(line);
  });
  const { webhooks, ops } = await listening.promise;
  let isKilled = false;
  void ended.promise.then((error) => isKilled || onDeath(error));
  sandbox.webhookUrl = webhooks;
  const opsPort = Number(new URL(ops).port);
  return {
    port: Number(new URL(webhooks).port),
    opsPort,
    ops: opsClient({ host: '127.0.0.1', port: opsPort, token: null, readToken: null }),
    async kill(signal: NodeJS.Signals): Promise<void> {
      isKilled = true;
      child.kill(signal);
      await ended.promise;
    },
  };
}
