/** The real mirror as a child process, started as a person would; its log output is read line by line. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { programFile } from '../../platform/own-files.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { opsClient, type OpsClient } from '../shared/ops-client.ts';

export interface MirrorProcess {
  readonly webhookUrl: string;
  readonly port: number;
  readonly opsPort: number;
  readonly ops: OpsClient;
  /** Resolves when the process has ended; does nothing if it already has. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

interface MirrorProcessOptions {
  readonly sandbox: Sandbox;
  /** In a folder of its own, which is also the process's working directory. */
  readonly databasePath: string;
  /** 0: free ports. */
  readonly port: number;
  readonly opsPort: number;
  readonly onLog: (line: LogLine) => void;
  /** Called when the process ends unasked after it has begun to listen. */
  readonly onDeath: (error: Error) => void;
}

/** Some seconds; more where a machine is busy or has not compiled it yet. */
const START_WITHIN_MS = 60_000;
const ENTRY = fileURLToPath(programFile('main'));

/** @throws Error when it does not start in time. */
export async function startMirror(options: MirrorProcessOptions): Promise<MirrorProcess> {
  const { sandbox, databasePath, onLog, onDeath } = options;
  const child = spawn(process.execPath, [ENTRY], {
    // Ignores a .env file of the caller.
    cwd: dirname(databasePath),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own: Ctrl-C reaches only the demo, which then stops its mirror in order.
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
  const ended = once(child, 'close');
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  // If the demo itself is killed, its mirror must not live on.
  const endWithParent = (): void => void child.kill('SIGKILL');
  process.once('exit', endWithParent);

  let isAsked = false;
  let hasListened = false;
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    isAsked = true;
    child.kill(signal);
    await ended;
    process.off('exit', endWithParent);
  };

  const listening = Promise.withResolvers<LogLine>();
  const late = setTimeout(
    () => listening.reject(new Error(`the mirror did not start within ${START_WITHIN_MS / 1_000} s`)),
    START_WITHIN_MS,
  );
  child.once('close', (code, signal) => {
    const error = new Error(
      `the mirror ended unexpectedly (${signal ?? `exit code ${code}`}) ${errors}`.trim(),
    );
    listening.reject(error);
    // Before that, whoever starts it is told, and may try another port.
    if (hasListened && !isAsked) onDeath(error);
  });
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = parse(text);
    if (line === null) return;
    if (line['kind'] === 'listening') {
      hasListened = true;
      listening.resolve(line);
    }
    onLog(line);
  });
  try {
    const line = await listening.promise;
    const webhookUrl = String(line['webhooks']);
    const opsPort = portOf(String(line['ops']));
    return {
      webhookUrl,
      port: portOf(webhookUrl),
      opsPort,
      ops: opsClient({ host: '127.0.0.1', port: opsPort, token: null }),
      kill,
    };
  } catch (error) {
    await kill('SIGKILL');
    throw error;
  } finally {
    clearTimeout(late);
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

function parse(text: string): LogLine | null {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return null;
  }
}
