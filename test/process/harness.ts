import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { signBody } from '../../src/store-api/signature.ts';
import { present } from '../shared/present.ts';
import { temporaryFolder, type Owner } from '../shared/temporary-folder.ts';
import { compareWithTruth } from './compare-with-truth.ts';
import { eventually, untilNone } from './wait.ts';

export { temporaryFolder, type Owner } from '../shared/temporary-folder.ts';
export { compareWithTruth } from './compare-with-truth.ts';
export { eventually, throughout, untilNone } from './wait.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export type Environment = Readonly<Record<string, string>>;
export type Json = Record<string, unknown>;
interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface MirrorProcess {
  readonly pid: number;
  readonly log: readonly Json[];
  readonly stderr: string;
  readonly ended: Promise<Ended>;
  signal(name: NodeJS.Signals): void;
}

type MirrorFile = Pick<RunningMirror, 'databasePath'>;

export interface RunningMirror extends MirrorProcess {
  readonly folder: string;
  readonly databasePath: string;
  readonly webhookUrl: string;
  readonly opsUrl: string;
  stop(): Promise<Ended>;
  kill(): Promise<Ended>;
  get(path: string, headers?: Environment): Promise<{ status: number; body: Json }>;
  post(path: string, body: unknown, headers?: Environment): Promise<{ status: number; body: Json }>;
}

/** Deliveries go out one after the other, so that "then" means then. */
export async function startService(test: Owner, options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ products: 12, ...options });
  sandbox.network.concurrency = 1;
  test.onTestFinished(() => sandbox.stop());
  return sandbox;
}

/** Without schedules, so that only the rules repair. */
export function environmentFor(
  sandbox: Pick<Sandbox, 'baseUrl' | 'clientId' | 'clientSecret' | 'webhookSecret'>,
  databasePath: string,
): Environment {
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
    SERVICE_MAX_RPS: '500',
    LOG_LEVEL: 'debug',
  };
}

const MIRROR_PRIORITY = -15;

/** @param env the whole environment except PATH. */
export function spawnMirror(
  test: Owner,
  env: Environment,
  cwd: string,
  user: { readonly uid?: number; readonly gid?: number } = {},
): MirrorProcess {
  // Its answers are due within a second: where it may, it goes before whatever keeps the machine busy.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) setPriority(MIRROR_PRIORITY);
  const child = spawn(process.execPath, [MAIN], {
    ...user,
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (isRoot) setPriority(0);
  const log: Json[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => log.push(parseLine(line)));
  const errors: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  test.onTestFinished(async () => {
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

export const MIRROR_FILE = 'mirror.db';

interface MirrorOptions {
  readonly folder?: string;
  readonly env?: Environment;
  readonly user?: Parameters<typeof spawnMirror>[3];
}

/** A store, or one of its apps. */
type StoreAccess = Pick<Sandbox, 'baseUrl' | 'clientId' | 'clientSecret' | 'webhookSecret' | 'webhookUrl'>;

export async function startMirror(
  test: Owner,
  sandbox: StoreAccess,
  options: MirrorOptions = {},
): Promise<RunningMirror> {
  const folder = options.folder ?? temporaryFolder(test);
  const databasePath = join(folder, MIRROR_FILE);
  const env = { ...environmentFor(sandbox, databasePath), ...options.env };
  const child = spawnMirror(test, env, folder, options.user);
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
  // A mirror of a stream has no public port.
  if ('webhooks' in line) {
    sandbox.webhookUrl = webhookUrl;
    // A mirror that cannot store it is not live either.
    if (!isProven(databasePath)) await proveWayIn(webhookUrl, sandbox.webhookSecret).catch(() => undefined);
  }
  const end = (name: NodeJS.Signals): Promise<Ended> => {
    child.signal(name);
    return child.ended;
  };
  return Object.assign(child, {
    folder,
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
  } satisfies Omit<RunningMirror, keyof MirrorProcess>);
}

export async function startBoth(
  test: Owner,
  service: SandboxOptions = {},
  options: MirrorOptions = {},
): Promise<{ sandbox: Sandbox; mirror: RunningMirror }> {
  const sandbox = await startService(test, service);
  const mirror = await startMirror(test, sandbox, options);
  await untilLive(mirror);
  await untilQuiet(mirror, sandbox);
  return { sandbox, mirror };
}

/** Sends webhooks of the store that change nothing, until one is accepted. Without it no mirror is live. */
export async function proveWayIn(webhookUrl: string, secret: string): Promise<void> {
  let status = 0;
  const isAnswered = async (): Promise<boolean> => {
    const body = `{"request_id":"proof-${randomUUID()}","event_type":"stock_available_updated","request_time":1,"data":{"items":[]}}`;
    const headers = { 'x-service-signature': signBody(secret, Buffer.from(body)) };
    ({ status } = await fetch(webhookUrl, { method: 'POST', headers, body }));
    // A busy machine may commit it too late for its answer.
    return status !== 503;
  };
  await eventually(isAnswered, { what: 'the proof is answered in time' });
  if (status !== 204) throw new Error(`the proof is answered ${status}`);
}

function isProven(databasePath: string): boolean {
  try {
    return inboxRows(databasePath, `SELECT 1 FROM inbox WHERE kind = 'delivery' LIMIT 1`).length > 0;
  } catch {
    return false;
  }
}

export async function untilLive(mirror: MirrorFile): Promise<void> {
  await eventually(() => statusOf(mirror.databasePath).state === 'live', { what: 'state live' });
}

export async function untilQuiet(mirror: MirrorFile, sandbox: Sandbox): Promise<void> {
  await sandbox.network.idle();
  const isQuiet = (): boolean =>
    isApplied(mirror.databasePath) && statusOf(mirror.databasePath).pending_reads === 0;
  await eventually(isQuiet, { what: 'quiet' });
}

export async function untilDelivered(mirror: MirrorFile, sandbox: Sandbox): Promise<void> {
  await sandbox.network.idle();
  await eventually(() => isApplied(mirror.databasePath), { what: 'all is applied' });
}

function isApplied(databasePath: string): boolean {
  const [inbox] = inboxRows<{ seq: number }>(databasePath, 'SELECT coalesce(max(seq), 0) AS seq FROM inbox');
  const [mirror] = rows<{ seq: number }>(databasePath, 'SELECT inbox_seq AS seq FROM mirror_state');
  return inbox !== undefined && mirror !== undefined && mirror.seq >= inbox.seq;
}

export async function untilEqual(mirror: MirrorFile, sandbox: Sandbox): Promise<void> {
  await untilNone(() => compareWithTruth(mirror.databasePath, sandbox), {
    what: 'the mirror equals the truth',
  });
}

export async function untilAtRest(mirror: MirrorFile, sandbox: Sandbox): Promise<void> {
  await untilQuiet(mirror, sandbox);
  await untilLive(mirror);
  await untilEqual(mirror, sandbox);
}

export interface StatusRow {
  readonly epoch: string;
  readonly last_seq: number;
  readonly state: string;
  readonly pending_reads: number;
  readonly open_gaps: number;
  readonly alive_at: number;
  readonly last_full_sync_at: number | null;
}

export function statusOf(databasePath: string): StatusRow {
  const [status] = rows<StatusRow>(databasePath, 'SELECT * FROM mirror_status');
  if (status === undefined) throw new Error('mirror_status has no row');
  return status;
}

export function rows<T>(databasePath: string, sql: string, ...args: unknown[]): T[] {
  const db = new Database(databasePath, { readonly: true, fileMustExist: true });
  try {
    return db.prepare<unknown[], T>(sql).all(...args);
  } finally {
    db.close();
  }
}

export function inboxRows<T>(databasePath: string, sql: string, ...args: unknown[]): T[] {
  return rows(inboxPath(databasePath), sql, ...args);
}

export function notKept(
  databasePath: string,
  records: readonly { readonly delivery: { readonly body: Buffer } }[],
): string[] {
  const kept = new Set(
    inboxRows<{ body: Buffer }>(databasePath, `SELECT body FROM inbox WHERE kind = 'delivery'`).map(
      ({ body }) => body.toString(),
    ),
  );
  return records.map(({ delivery }) => delivery.body.toString()).filter((body) => !kept.has(body));
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

interface PlainVariant {
  readonly variantId: string;
  readonly warehouseId: string;
  readonly productId: string;
}

/** A tuple of N elements. */
type Exactly<N extends number, T, Found extends T[] = []> = number extends N
  ? T[]
  : Found['length'] extends N
    ? Found
    : Exactly<N, T, [...Found, T]>;

/** Own variants of different products, with stock and without bundles. */
export function plainVariants<N extends number>(sandbox: Sandbox, count: N): Exactly<N, PlainVariant> {
  const byProduct = new Map(
    sandbox.truth.variants
      .filter(
        ({ kind, bundledBy, levels, deleted }) =>
          kind === 'own' && bundledBy.size === 0 && levels.length > 0 && !deleted,
      )
      .filter(({ levels: [level] }) => level !== undefined && level.onHand - level.reserved >= 5)
      .map((variant) => [
        variant.product.id,
        {
          variantId: variant.id,
          warehouseId: present(variant.levels[0]).warehouseId,
          productId: variant.product.id,
        },
      ]),
  );
  const found = [...byProduct.values()].slice(0, count);
  if (found.length < count) throw new Error(`the catalogue has only ${found.length} plain products`);
  return found as Exactly<N, PlainVariant>;
}

/** Waits until new changes are certainly later than every read; an earlier one would cause a read. */
export async function untilPastReads(mirror: RunningMirror, sandbox: Sandbox): Promise<void> {
  await eventually(
    () => {
      const [last] = rows<{ hi: number }>(
        mirror.databasePath,
        'SELECT max(read_hi_ms) AS hi FROM stock_levels',
      );
      return sandbox.clock.now() > (last?.hi ?? 0);
    },
    { what: 'the reads are past' },
  );
}

/** Waits for a resync; a run that had begun already may have read too early. */
export async function resync(mirror: RunningMirror, body: Json = {}): Promise<Json> {
  const { status, body: answer } = await mirror.post('/api/resync', body);
  if (status !== 202) throw new Error(`resync was refused: ${status} ${JSON.stringify(answer)}`);
  const ended = await untilRunEnds(mirror, Number(answer['run_id']));
  return answer['joined'] === true ? resync(mirror, body) : ended;
}

async function untilRunEnds(mirror: RunningMirror, runId: number): Promise<Json> {
  return eventually(
    async () => {
      const { body } = await mirror.get(`/api/runs/${runId}`);
      return body['state'] === 'running' ? null : body;
    },
    { what: `run ${runId} ends` },
  );
}

export async function untilLogged(
  { log }: { readonly log: readonly Json[] },
  isIt: (line: Json) => boolean,
  what: string,
): Promise<readonly Json[]> {
  await eventually(() => log.some(isIt), { what: `the log says ${what}` });
  return log.filter(isIt);
}
