/** What a command takes: processor time of its whole process, and the wait for the first webhook that is answered. */
import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { userEnv } from './package.ts';

const SECRET = 'c'.repeat(40);

/** Writes what the process has taken when it ends, its threads included. */
const TELLING = `
  process.once('exit', () => {
    const { user, system } = process.cpuUsage();
    process.getBuiltinModule('node:fs').writeFileSync(process.env.CPU_FILE, String((user + system) / 1e6));
  });`;
const TELL = ['--import', `data:text/javascript,${encodeURIComponent(TELLING)}`];

interface Home {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A place to run commands in: a mirror of its own, whose store nothing answers for. */
export async function makeHome(folder: string): Promise<Home> {
  const [port, opsPort] = [await freePort(), await freePort()];
  return {
    folder,
    env: {
      ...userEnv,
      CPU_FILE: join(folder, 'cpu'),
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      SERVICE_BASE_URL: 'http://127.0.0.1:9',
      SERVICE_CLIENT_ID: 'footprint',
      SERVICE_CLIENT_SECRET: SECRET,
      SERVICE_WEBHOOK_SECRET: SECRET,
      DATABASE_PATH: join(folder, 'mirror.db'),
      PORT: String(port),
      OPS_PORT: String(opsPort),
      LOG_LEVEL: 'error',
    },
  };
}

/** @returns seconds of processor. */
export function processorOf({ folder, env }: Home, args: readonly string[]): number {
  spawnSync(process.execPath, [...TELL, ...args], { cwd: folder, env });
  return Number(readFileSync(join(folder, 'cpu'), 'utf8'));
}

interface Start {
  /** Until the first webhook is answered with a 204. */
  readonly seconds: number;
  /** Of processor until the end, an orderly stop included. */
  readonly processor: number;
}

export async function startOf({ folder, env }: Home, bin: string): Promise<Start> {
  const startedAtMs = performance.now();
  const child = spawn(process.execPath, [...TELL, bin, 'serve'], { cwd: folder, env, stdio: 'inherit' });
  const ended = once(child, 'exit');
  let seconds = null;
  while (seconds === null && child.exitCode === null) {
    if (await isAnswered(env['PORT'] ?? '')) seconds = (performance.now() - startedAtMs) / 1_000;
    else await sleep(3);
  }
  child.kill('SIGTERM');
  await ended;
  if (seconds === null) throw new Error(`${bin} serve ended by itself`);
  return { seconds, processor: Number(readFileSync(join(folder, 'cpu'), 'utf8')) };
}

async function isAnswered(port: string): Promise<boolean> {
  const now = Date.now();
  const body = JSON.stringify({
    request_id: `footprint-${now}`,
    event_type: 'stock_available_updated',
    request_time: now,
    data: { items: [] },
  });
  const signature = createHmac('sha256', SECRET).update(body).digest('hex');
  try {
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
    const answer = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    return answer.status === 204;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
