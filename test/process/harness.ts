/** The real service as a child process, the simulated one in the test's own: started, watched, stopped, killed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { compareWithTruth } from './compare-with-truth.ts';
import { eventually, untilNone } from './wait.ts';

export { compareWithTruth } from './compare-with-truth.ts';
export { eventually, throughout, untilNone } from './wait.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export type Environment = Readonly<Record<string, string>>;
export type Json = Record<string, unknown>;
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A child that runs `src/main.ts`, whatever becomes of it. */
export interface MirrorProcess {
  readonly pid: number;
  /** The lines of its log so far, parsed. */
  readonly log: readonly Json[];
  readonly stderr: string;
  readonly ended: Promise<Ended>;
  signal(name: NodeJS.Signals): void;
}

/** A child that listens. */
export interface RunningMirror extends MirrorProcess {
  readonly databasePath: string;
  readonly webhookUrl: string;
  /** Without a final slash. */
  readonly opsUrl: string;
  /** SIGTERM; resolves when the process has ended. */
  stop(): Promise<Ended>;
  /** kill -9; resolves when the process has ended. */
  kill(): Promise<Ended>;
  get(path: string, headers?: Environment): Promise<{ status: number; body: Json }>;
  post(path: string, body: unknown, headers?: Environment): Promise<{ status: number; body: Json }>;
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Deliveries go out one after the other, so that "then" means then. */
export async function startService(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  sandbox.network.concurrency = 1;
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

/** What every mirror of this sandbox is told; schedules are off, so that nothing but the rules repairs. */
export function environmentFor(sandbox: Sandbox, databasePath: string): Environment {
  return {
    SERVICE_BASE_URL: sandbox.baseUrl,
    SERVICE_CLIENT_ID: sandbox.clientId,
    SERVICE_CLIENT_SECRET: sandbox.clientSecret,
    SERVICE_WEBHOOK_SECRET: sandbox.webhookSecret,
    DATABASE_PATH: databasePath,
    PORT: '0',
    OPS_PORT: '0',
    RECONCILE_CRON: 'off',
    RESYNC_CRON: 'off',
    LOG_LEVEL: 'debug',
  };
}

/** @param env the whole environment but for PATH. @param cwd a folder without a `.env` of anybody's. */
export function spawnMirror(env: Environment, cwd: string): MirrorProcess {
  const child = spawn(process.execPath, [MAIN], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log: Json[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => log.push(parseLine(line)));
  const errors: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    pid: pidOf(child),
    log,
    get stderr() {
      return errors.join('');
    },
    ended,
    signal: (name) => void child.kill(name),
  };
}

/** Starts a mirror of the sandbox, waits until it listens, and points the sandbox's webhooks at it. */
export async function startMirror(
  sandbox: Sandbox,
  options: { folder?: string; env?: Environment } = {},
): Promise<RunningMirror> {
  const folder = options.folder ?? temporaryFolder();
  const databasePath = join(folder, 'mirror.db');
  const child = spawnMirror({ ...environmentFor(sandbox, databasePath), ...options.env }, folder);
  let gone: Ended | null = null;
  void child.ended.then((end) => (gone = end));
  const line = await eventually(
    () => {
      if (gone !== null) return { failed: gone };
      return child.log.find((entry) => entry['msg'] === 'listening');
    },
    { what: 'the mirror listens' },
  );
  if ('failed' in line) throw new Error(`the mirror ended: ${JSON.stringify(gone)} ${child.stderr}`);
  const webhookUrl = String(line['webhooks']);
  const opsUrl = String(line['ops']).replace(/\/$/, '');
  sandbox.webhookUrl = webhookUrl;
  const end = (name: NodeJS.Signals): Promise<Ended> => {
    child.signal(name);
    return child.ended;
  };
  return {
    pid: child.pid,
    log: child.log,
    get stderr() {
      return child.stderr;
    },
    ended: child.ended,
    signal: (name) => child.signal(name),
    databasePath,
    webhookUrl,
    opsUrl,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    get: (path, headers = {}) => answerOf(fetch(opsUrl + path, { headers })),
    post: (path, body, headers = {}) =>
      answerOf(
        fetch(opsUrl + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
      ),
  };
}

/** Starts both; resolves when the mirror's first synchronisation is over. */
export async function startBoth(
  options: SandboxOptions = {},
  env: Environment = {},
): Promise<{ sandbox: Sandbox; mirror: RunningMirror }> {
  const sandbox = await startService(options);
  const mirror = await startMirror(sandbox, { env });
  await untilLive(mirror);
  return { sandbox, mirror };
}

export async function untilLive(mirror: RunningMirror, withinMs = 15_000): Promise<void> {
  await eventually(() => statusOf(mirror.databasePath).state === 'live', { what: 'state live', withinMs });
}

/** Waits until nothing is on its way to the mirror and the mirror wants to read nothing. */
export async function untilQuiet(mirror: RunningMirror, sandbox: Sandbox, withinMs = 15_000): Promise<void> {
  await sandbox.network.idle();
  await eventually(() => statusOf(mirror.databasePath).pending_reads === 0, { what: 'quiet', withinMs });
}

export async function untilEqual(mirror: RunningMirror, sandbox: Sandbox, withinMs = 15_000): Promise<void> {
  await untilNone(() => compareWithTruth(mirror.databasePath, sandbox), {
    what: 'the mirror equals the truth',
    withinMs,
  });
}

export interface StatusRow {
  readonly state: string;
  readonly pending_reads: number;
  readonly suspect_count: number;
  readonly open_gaps: number;
  readonly alive_at: number;
  readonly last_full_sync_at: number | null;
}

export function statusOf(databasePath: string): StatusRow {
  const [status] = rows<StatusRow>(databasePath, 'SELECT * FROM mirror_status');
  if (status === undefined) throw new Error('mirror_status has no row');
  return status;
}

/** A question asked as an ERP would ask it: over a read-only connection of its own. */
export function rows<T>(databasePath: string, sql: string, ...args: unknown[]): T[] {
  const db = new Database(databasePath, { readonly: true, fileMustExist: true });
  try {
    return db.prepare<unknown[], T>(sql).all(...args);
  } finally {
    db.close();
  }
}

/** What the mirror shows for a cell; null when it shows none. */
export function qtyOf(
  databasePath: string,
  cell: { readonly variantId: string; readonly warehouseId: string },
): number | null {
  const [found] = rows<{ qty: number }>(
    databasePath,
    'SELECT available_qty AS qty FROM mirror_stock WHERE variant_id = ? AND warehouse_id = ?',
    cell.variantId,
    cell.warehouseId,
  );
  return found?.qty ?? null;
}

async function answerOf(response: Promise<Response>): Promise<{ status: number; body: Json }> {
  const answer = await response;
  return { status: answer.status, body: (await answer.json()) as Json };
}

function parseLine(line: string): Json {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return { msg: line };
  }
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the process was not started');
  return child.pid;
}
