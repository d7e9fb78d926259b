/** NATS servers on loopback, in folders of their own, that a test may kill, stop and empty. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isNewEnough, NEEDED_VERSION } from '../../../src/replication/nats/needed-version.ts';

/** Whether this machine has a server that is new enough (`scripts/install-nats-server.sh`). */
export const hasServer = isNewEnough(
  /v(\d+\.\d+\.\d+)/.exec(spawnSync('nats-server', ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1] ??
    '',
);
/** To be put behind the names of tests that are skipped without it. */
export const needsServer = hasServer ? '' : ` (needs nats-server ${NEEDED_VERSION} or newer)`;

const TOGETHER_WITHIN_MS = 10_000;
const CURRENT_WITHIN_MS = 40_000;

interface ServerOptions {
  /** Further lines of the configuration. */
  readonly config?: string;
  readonly maxPayload?: string;
  /** Of each server: where it keeps its data, if not beside its configuration. */
  readonly stores?: readonly string[];
}

interface Place {
  /** Of its configuration. */
  readonly folder: string;
  /** Of its data. */
  readonly store: string;
  /** Of its monitoring. */
  readonly monitor: number;
  /** Further lines of the configuration. */
  readonly config: string;
}

export class NatsServer {
  readonly name: string;
  readonly port: number;
  readonly monitor: number;
  readonly #folder: string;
  readonly #config: string;
  #process: ChildProcess | null = null;

  constructor(name: string, port: number, { folder, store, monitor, config }: Place) {
    this.name = name;
    this.port = port;
    this.monitor = monitor;
    this.#folder = join(store, name);
    this.#config = join(folder, `${name}.conf`);
    writeFileSync(
      this.#config,
      `server_name: ${name}
listen: "127.0.0.1:${port}"
http: "127.0.0.1:${monitor}"
jetstream { store_dir: "${this.#folder}", sync_interval: always, max_mem: 64M, max_file: 2G }
${config}
`,
    );
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Until it listens. */
  async start(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    this.#process = spawn('nats-server', ['-c', this.#config, '-l', `${this.#folder}.txt`], {
      stdio: 'ignore',
    });
    const ended = once(this.#process, 'exit').then(() => {
      throw new Error(`nats-server ended at once: see ${this.#folder}.txt`);
    });
    ended.catch(() => undefined);
    await Promise.race([listens(this.port), ended]);
  }

  /** It has what the others have. */
  async untilCurrent(): Promise<void> {
    const untilMs = performance.now() + CURRENT_WITHIN_MS;
    while (!(await fetch(`http://127.0.0.1:${this.monitor}/healthz`)).ok) {
      if (performance.now() > untilMs)
        throw new Error(`${this.name} is not current: see ${this.#folder}.txt`);
      await wait(100);
    }
  }

  /** As a power cut would. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** It holds its sockets, and does nothing. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  /** All that it has kept; not while it runs. */
  wipe(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Not while it runs. @returns what puts it back as it was. */
  remember(): () => void {
    const copy = `${this.#folder}.before`;
    rmSync(copy, { recursive: true, force: true });
    cpSync(this.#folder, copy, { recursive: true });
    return () => {
      this.wipe();
      cpSync(copy, this.#folder, { recursive: true });
    };
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#process;
    this.#process = null;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, 'exit');
    running.kill('SIGCONT');
    running.kill(signal);
    await ended;
  }
}

export interface Cluster extends AsyncDisposable {
  readonly servers: readonly NatsServer[];
  readonly urls: readonly string[];
  /** All of them, at once. */
  start(): Promise<void>;
  kill(): Promise<void>;
}

export async function startServers(count: 1 | 3, options: ServerOptions = {}): Promise<Cluster> {
  const cluster = await prepareServers(count, options);
  await cluster.start();
  return cluster;
}

/** None of them runs yet. */
export async function prepareServers(count: 1 | 3, options: ServerOptions = {}): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'nats-'));
  const ports = await freePorts(count * 3);
  const routes = ports.slice(count, count * 2);
  const servers = ports.slice(0, count).map((port, i) => {
    // Clients keep to the addresses that they were given: a way in between would be gone around.
    const cluster =
      count === 1
        ? ''
        : `cluster { name: test, no_advertise: true, listen: "127.0.0.1:${routes[i]}", routes: [${routes.map((route) => `"nats://127.0.0.1:${route}"`).join(', ')}] }`;
    const config = `max_payload: ${options.maxPayload ?? '8MB'}\n${cluster}\n${options.config ?? ''}`;
    const monitor = ports[i + count * 2] ?? 0;
    return new NatsServer(`n${i + 1}`, port, {
      folder,
      store: options.stores?.[i] ?? folder,
      monitor,
      config,
    });
  });
  const kill = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.kill()));
  };
  let hasBegun = false;
  const start = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.start()));
    while (!hasBegun && count > 1 && !(await areTogether(servers))) {
      await kill();
      for (const server of servers) server.wipe();
      await Promise.all(servers.map((server) => server.start()));
    }
    hasBegun = true;
  };
  return {
    servers,
    urls: servers.map(({ url }) => url),
    start,
    kill,
    async [Symbol.asyncDispose]() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Servers that are new together sometimes choose a leader that counts two of three, for good. No stream with three copies is
 * made there.
 *
 * @returns false when they are not one in time
 */
async function areTogether(servers: readonly NatsServer[]): Promise<boolean> {
  const untilMs = performance.now() + TOGETHER_WITHIN_MS;
  while (performance.now() < untilMs) {
    const found = await Promise.all(servers.map(othersIn));
    if (found.includes(servers.length - 1)) return true;
    await wait(100);
  }
  return false;
}

/** Whom the leader counts beside itself; null: this one does not lead. */
async function othersIn({ monitor }: NatsServer): Promise<number | null> {
  const answer = await fetch(`http://127.0.0.1:${monitor}/jsz`);
  const { meta_cluster: meta } = (await answer.json()) as { meta_cluster?: { replicas?: unknown[] } };
  return meta?.replicas?.length ?? null;
}

/**
 * Below those that the system gives to outgoing connections, apart from those of other test processes, and each once:
 * a server that is started again finds its own free.
 */
const PORTS_FROM = 11_000 + (process.pid % 200) * 100;
let given = 0;

async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = PORTS_FROM + (given % 100);
    given += 1;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const holder = createServer();
  try {
    await once(holder.listen(port, '127.0.0.1'), 'listening');
    await once(holder.close(), 'close');
    return true;
  } catch {
    return false;
  }
}

async function listens(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await wait(50);
    } finally {
      socket.destroy();
    }
  }
  throw new Error(`nats-server does not listen on port ${port}`);
}
