/** A host: a receiver and a mirror as two processes over one folder, and the commands of its operator. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { freePort } from '../../test/shared/free-port.ts';
import { Half } from './half.ts';

export interface HostOptions {
  readonly sandbox: Sandbox;
  /** Leads to the folder of the installed version. */
  readonly current: string;
  readonly folder: string;
  /** Runs before the first start, as on a host to which a copy is restored. */
  readonly prepare?: (command: Command) => void;
}

type Command = (...args: readonly string[]) => string;

export interface Host {
  readonly databasePath: string;
  readonly webhookUrl: string;
  readonly receiver: Half;
  readonly mirror: Half;
  readonly command: Command;
  end(): Promise<void>;
}

/** @returns once both listen. */
export async function startHost({ sandbox, current, folder, prepare }: HostOptions): Promise<Host> {
  mkdirSync(folder, { recursive: true });
  const databasePath = join(folder, 'stock-mirror.db');
  const program = join(current, 'dist/bin.js');
  const port = await freePort();
  const opsPort = await freePort();
  const env = {
    SERVICE_BASE_URL: sandbox.baseUrl,
    SERVICE_CLIENT_ID: sandbox.clientId,
    SERVICE_CLIENT_SECRET: sandbox.clientSecret,
    SERVICE_WEBHOOK_SECRET: sandbox.webhookSecret,
    DATABASE_PATH: databasePath,
    PORT: String(port),
    RESYNC_CRON: 'off',
    SERVICE_MAX_RPS: '300',
  };
  const command: Command = (...args) =>
    execFileSync(process.execPath, [program, ...args], {
      cwd: folder,
      env: { ...env, ROLE: 'mirror', OPS_PORT: String(opsPort) },
      encoding: 'utf8',
    });
  prepare?.(command);
  const receiver = new Half({
    role: 'receiver',
    program,
    port,
    env: { ...env, OPS_PORT: '0' },
    logPath: join(folder, 'receiver.log'),
  });
  await receiver.untilStarted();
  const mirror = new Half({
    role: 'mirror',
    program,
    port,
    env: { ...env, OPS_PORT: String(opsPort) },
    logPath: join(folder, 'mirror.log'),
  });
  await mirror.untilStarted();
  return {
    databasePath,
    webhookUrl: `http://127.0.0.1:${port}/webhooks`,
    receiver,
    mirror,
    command,
    async end() {
      await mirror.end();
      await receiver.end();
    },
  };
}
