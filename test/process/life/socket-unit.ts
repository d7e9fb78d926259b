/** A mirror whose public socket is held by another process, as by a systemd socket unit. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { environmentFor, eventually, type Environment, type Json, type Owner } from '../harness.ts';

const HOLDER = join(import.meta.dirname, 'fixtures/hold-socket.ts');
const MAIN = join(import.meta.dirname, '../../../src/main.ts');

export interface SocketUnit {
  readonly folder: string;
  readonly databasePath: string;
  readonly port: number;
  /** Lines of all starts. */
  readonly log: readonly Json[];
  readonly stderr: string;
  /** Where the private listener of the last start is. */
  readonly opsUrl: string;
  /** Resolves once the process listens. */
  start(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** SIGTERM. Resolves once the process has ended; the socket stays open. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export const linesOf = (log: readonly Json[], message: string): readonly Json[] =>
  log.filter(({ msg }) => msg === message);

/** Opens the socket; the first `start` follows. */
export async function holdSocket(
  t: Owner,
  sandbox: Sandbox,
  folder: string,
  env: Environment = {},
): Promise<SocketUnit> {
  const databasePath = join(folder, 'mirror.db');
  const holder = spawn(process.execPath, [HOLDER, MAIN, 'webhooks'], {
    cwd: folder,
    // PORT 1 proves that the passed socket is used.
    env: { PATH: process.env['PATH'] ?? '', ...environmentFor(sandbox, databasePath), PORT: '1', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const log: Json[] = [];
  createInterface({ input: holder.stdout }).on('line', (line) => log.push(JSON.parse(line) as Json));
  let stderr = '';
  holder.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const pidNow = (): number => Number(log.findLast(({ pid }) => pid !== undefined)?.['pid']);
  t.onTestFinished(async () => {
    const ended = once(holder, 'close');
    holder.kill('SIGKILL');
    try {
      process.kill(pidNow(), 'SIGKILL');
    } catch {
      // It has ended already.
    }
    await ended;
  });
  const { port } = await eventually(() => log.find((line) => 'port' in line), { what: 'the socket is open' });
  return {
    folder,
    databasePath,
    port: Number(port),
    log,
    get stderr() {
      return stderr;
    },
    get opsUrl() {
      return String(linesOf(log, 'listening').at(-1)?.['ops']);
    },
    start: async () => {
      const listened = linesOf(log, 'listening').length;
      holder.stdin.write('\n');
      await eventually(() => linesOf(log, 'listening').length > listened, {
        what: `start ${listened + 1} listens`,
      }).catch((error: unknown) => {
        throw new Error(stderr, { cause: error });
      });
      sandbox.webhookUrl = `http://127.0.0.1:${Number(port)}/webhooks`;
    },
    signal: (name) => void process.kill(pidNow(), name),
    kill: async () => {
      const pid = pidNow();
      process.kill(pid, 'SIGKILL');
      await eventually(() => !isAlive(pid), { what: 'it has ended' });
    },
    stop: async () => {
      const pid = pidNow();
      process.kill(pid, 'SIGTERM');
      await eventually(() => !isAlive(pid), { what: 'it has stopped' });
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
