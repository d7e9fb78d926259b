import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { compareWithTruth, environmentFor, proveWayIn, type Environment } from '../process/harness.ts';
import { eventually } from '../process/wait.ts';
import { freePort } from '../shared/free-port.ts';

export { eventually, throughout } from '../process/wait.ts';

export const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly ended: Promise<Ended>;
  signal(name: NodeJS.Signals): void;
}

export interface Home {
  readonly folder: string;
  readonly env: Environment;
}

const leftovers: (() => unknown)[] = [];
afterAll(async () => {
  for (const remove of leftovers.toReversed()) await remove();
});

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-cli-'));
  leftovers.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function startService(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ products: 20, ...options });
  leftovers.push(() => sandbox.stop());
  return sandbox;
}

/** No schedules; OPS_PORT is free. */
export async function homeOf(sandbox: Sandbox, env: Environment = {}): Promise<Home> {
  return {
    folder: temporaryFolder(),
    env: {
      ...environmentFor(sandbox, './mirror.db'),
      OPS_PORT: String(await freePort()),
      SERVICE_MAX_RPS: '1000',
      LOG_LEVEL: 'info',
      ...env,
    },
  };
}

export function withEnv(home: Home, env: Environment): Home {
  return { ...home, env: { ...home.env, ...env } };
}

export function databaseOf(home: Home): string {
  return join(home.folder, 'mirror.db');
}

/** Commands share compiled code. */
const compileCache = temporaryFolder();

export function start(home: Home, ...args: string[]): RunningCommand {
  return watch(
    spawn(process.execPath, [CLI, ...args], {
      cwd: home.folder,
      env: { NODE_COMPILE_CACHE: compileCache, ...home.env },
    }),
  );
}

export const hasTerminal = spawnSync('script', ['--version']).status === 0;

/** Under a pseudo-terminal, by util-linux. */
export function startAtTerminal(home: Home, ...args: string[]): RunningCommand {
  // `exec`: the exit code is that of the command.
  const command = `exec ${[process.execPath, CLI, ...args].map((word) => `'${word}'`).join(' ')}`;
  const path = process.env['PATH'] ?? '';
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: home.folder,
    env: { PATH: path, TERM: 'xterm', ...home.env },
  });
  return watch(child);
}

export async function run(home: Home, ...args: string[]): Promise<Ended> {
  return start(home, ...args).ended;
}

export function watch(child: ChildProcess): RunningCommand {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  leftovers.push(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  if (child.pid === undefined) throw new Error('the command was not started');
  return {
    pid: child.pid,
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    ended,
    signal: (name) => void child.kill(name),
  };
}

export async function startServer(home: Home, sandbox: Sandbox): Promise<RunningCommand> {
  const server = start(home, 'serve');
  const listening = await untilPrinted(server, /"webhooks":"([^"]+)"/);
  sandbox.webhookUrl = listening[1] ?? null;
  if (listening[1] !== undefined) await proveWayIn(listening[1], sandbox.webhookSecret);
  return server;
}

/** A mirror that read everything and was stopped. */
export async function fillMirror(home: Home, sandbox: Sandbox): Promise<void> {
  const server = await startServer(home, sandbox);
  await until(home, ({ state }) => state === 'live');
  server.signal('SIGTERM');
  await server.ended;
}

/** Resolves with the first match in the output; rejects if the command ends without one. */
export async function untilPrinted(command: RunningCommand, pattern: RegExp): Promise<RegExpExecArray> {
  let ended: Ended | null = null;
  void command.ended.then((end) => (ended = end));
  const found = await eventually(
    () => pattern.exec(command.stdout) ?? pattern.exec(command.stderr) ?? (ended === null ? null : 'ended'),
    { what: `${String(pattern)} is printed` },
  );
  if (found === 'ended') throw new Error(`ended without ${String(pattern)}: ${JSON.stringify(ended)}`);
  return found;
}

export async function untilQuiet(home: Home): Promise<void> {
  await until(
    home,
    (status) =>
      status['state'] === 'live' && status['pending_reads'] === 0 && status['deliveries_behind'] === 0,
  );
}

async function until(home: Home, isIt: (status: Record<string, unknown>) => boolean): Promise<void> {
  const statusUrl = `http://127.0.0.1:${home.env['OPS_PORT']}/api/status`;
  const token = home.env['OPS_TOKEN'];
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await eventually(
    async () => isIt((await (await fetch(statusUrl, { headers })).json()) as Record<string, unknown>),
    { what: 'the server is ready' },
  );
}

export function differencesOf(home: Home, sandbox: Sandbox): readonly string[] {
  return compareWithTruth(databaseOf(home), sandbox);
}

export function detailsRead(sandbox: Sandbox): number {
  return sandbox.requests['/v1/product/detail'] ?? 0;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
