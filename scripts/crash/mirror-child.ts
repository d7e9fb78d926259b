/** The real mirror as a child process that may be killed at any time, also before it listens. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export interface MirrorChild {
  readonly spawnedAtMs: number;
  /** Resolves with its addresses. @throws Error when it ends, or is killed, before it listens. */
  readonly listening: Promise<{ readonly webhookUrl: string; readonly opsUrl: string }>;
  /** Why it ended without having been asked to; null while that has not happened. */
  readonly failure: string | null;
  /** Resolves with the exit code when the process has ended. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>;
}

/** Its log is kept beside the database. @param ports 0 takes free ones. */
export function spawnMirror(
  sandbox: Sandbox,
  databasePath: string,
  ports: { readonly webhook: number; readonly ops: number },
): MirrorChild {
  const child = spawn(process.execPath, [MAIN], {
    // No .env of the caller's takes part.
    cwd: dirname(databasePath),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C is for the runner, which ends its mirror.
    detached: true,
    env: {
      SERVICE_BASE_URL: sandbox.baseUrl,
      SERVICE_CLIENT_ID: sandbox.clientId,
      SERVICE_CLIENT_SECRET: sandbox.clientSecret,
      SERVICE_WEBHOOK_SECRET: sandbox.webhookSecret,
      DATABASE_PATH: databasePath,
      PORT: String(ports.webhook),
      OPS_PORT: String(ports.ops),
      RECONCILE_CRON: 'off',
      RESYNC_CRON: 'off',
      SERVICE_MAX_RPS: '300',
    },
  });
  const killWithParent = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithParent);
  let isAsked = false;
  let failure: string | null = null;
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const listening = Promise.withResolvers<{ webhookUrl: string; opsUrl: string }>();
  // Whoever kills it early does not wait for this.
  listening.promise.catch(() => undefined);
  void ended.then(([code, signal]) => {
    process.off('exit', killWithParent);
    const how = `the mirror ended (${signal ?? `exit code ${code}`}) ${errors}`.trim();
    if (!isAsked) failure = how;
    listening.reject(new Error(how));
  });
  createInterface({ input: child.stdout }).on('line', (text) => {
    appendFileSync(`${databasePath}.jsonl`, `${text}\n`);
    const line = parse(text);
    if (line?.['msg'] !== 'listening') return;
    listening.resolve({ webhookUrl: String(line['webhooks']), opsUrl: String(line['ops']) });
  });
  return {
    spawnedAtMs: Date.now(),
    listening: listening.promise,
    get failure() {
      return failure;
    },
    end: async (signal) => {
      isAsked = true;
      child.kill(signal);
      const [code] = await ended;
      return code;
    },
  };
}

function parse(line: string): Record<string, unknown> | null {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return null;
  }
}
