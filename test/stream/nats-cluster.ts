/** Three NATS servers from deploy/several-machines, each behind a proxy that can be cut. */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder, type Environment, type Owner } from '../process/harness.ts';
import { eventually } from '../process/wait.ts';
import { freePort } from '../shared/free-port.ts';
import { present } from '../shared/present.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy/several-machines');
const NAMES = ['nats-1', 'nats-2', 'nats-3'];
const OLDEST = [2, 10, 23];
const READY_POLL_MS = 200;
const READY_POLLS = 75;

/** Why no cluster can be started here; empty: one can. */
export function lacking(): string {
  const { stdout } = spawnSync('nats-server', ['--version'], { encoding: 'utf8' });
  const found = /v(\d+)\.(\d+)\.(\d+)/
    .exec(stdout ?? '')
    ?.slice(1)
    .map(Number) ?? [0];
  const differs = OLDEST.findIndex((part, at) => part !== found[at]);
  const isOld = differs !== -1 && (found[differs] ?? 0) < present(OLDEST[differs]);
  if (isOld) return ` (skipped: no nats-server ${OLDEST.join('.')} or newer)`;
  return spawnSync('openssl', ['version']).status === 0 ? '' : ' (skipped: no openssl)';
}

export interface NatsServer {
  readonly name: string;
  signal(name: NodeJS.Signals): void;
  kill(): Promise<void>;
  start(): void;
  /** Clients no longer reach the server, and get no error; the other servers reach it. */
  cut(): void;
  mend(): void;
}

export interface NatsCluster {
  readonly servers: readonly NatsServer[];
  /** Settings of a host that uses it. */
  readonly env: Environment;
  /** The server that leads a stream. */
  leader(stream: string): Promise<NatsServer>;
}

export async function startCluster(test: Owner): Promise<NatsCluster> {
  const folder = temporaryFolder(test);
  execFileSync(join(DEPLOY, 'make-secrets'), NAMES, { cwd: folder });
  const running: ChildProcess[] = [];
  const proxies: Awaited<ReturnType<typeof startProxy>>[] = [];
  test.onTestFinished(() => {
    for (const server of running) server.kill('SIGKILL');
    for (const proxy of proxies) proxy.close();
  });
  for (;;) {
    const ports: number[] = [];
    while (ports.length < NAMES.length * 3) ports.push(await freePort());
    const portsOf = (kind: number): number[] => ports.slice(kind * NAMES.length, (kind + 1) * NAMES.length);
    const [clients, routes, statusPorts] = [portsOf(0), portsOf(1), portsOf(2)];
    proxies.push(...(await Promise.all(clients.map((port) => startProxy(port)))));
    const own = proxies.slice(-NAMES.length);
    const servers = NAMES.map((name, at): NatsServer & { readonly monitor: string } => {
      let child: ChildProcess;
      const start = (): void => {
        const args = [
          ...['--config', 'nats.conf', '--name', name, '--addr', '127.0.0.1'],
          ...['--port', String(clients[at]), '--http_port', String(statusPorts[at])],
          ...['--client_advertise', `127.0.0.1:${own[at]?.port}`],
          ...['--cluster', `nats://127.0.0.1:${routes[at]}`],
          ...['--routes', routes.map((port) => `nats://127.0.0.1:${port}`).join()],
        ];
        const env = { ...process.env, NATS_STORE_DIR: join(folder, 'data', name) };
        child = spawn('nats-server', args, { cwd: join(folder, 'secrets', name), env, stdio: 'ignore' });
        running.push(child);
      };
      start();
      return {
        name,
        monitor: `http://127.0.0.1:${statusPorts[at]}`,
        start,
        signal: (signal) => void child.kill(signal),
        kill: async () => {
          child.kill('SIGKILL');
          if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
        },
        cut: () => own[at]?.cut(),
        mend: () => own[at]?.mend(),
      };
    });
    const monitors = servers.map(({ monitor }) => monitor);
    const leader = async (stream: string): Promise<NatsServer | undefined> => {
      const name = await leaderOf(stream, monitors);
      return servers.find((server) => server.name === name);
    };
    if (await areReady(monitors)) {
      return {
        servers,
        env: {
          STREAM_URL: own.map(({ port }) => `tls://127.0.0.1:${port}`).join(),
          STREAM_USER: 'stock-mirror',
          STREAM_PASSWORD: readFileSync(join(folder, 'secrets/stream-password'), 'utf8'),
          STREAM_CA_FILE: join(folder, 'secrets/ca.pem'),
        },
        leader: (stream) => eventually(() => leader(stream), { what: `a server leads ${stream}` }),
      };
    }
    // Servers that start together on empty folders sometimes count one peer too few, for good.
    await Promise.all(servers.map((server) => server.kill()));
    rmSync(join(folder, 'data'), { recursive: true });
  }
}

interface Jsz {
  readonly meta_cluster?: { readonly cluster_size: number; readonly leader?: string };
  readonly account_details?: readonly {
    readonly stream_detail?: readonly {
      readonly name: string;
      readonly cluster?: { readonly leader?: string };
    }[];
  }[];
}

/** One entry per server, empty if it does not answer. */
function statesOf(monitors: readonly string[]): Promise<Jsz[]> {
  const stateOf = async (monitor: string): Promise<Jsz> => {
    const signal = AbortSignal.timeout(1_000);
    return (await (await fetch(`${monitor}/jsz?accounts=true&streams=true`, { signal })).json()) as Jsz;
  };
  return Promise.all(monitors.map((monitor) => stateOf(monitor).catch((): Jsz => ({}))));
}

async function areReady(monitors: readonly string[]): Promise<boolean> {
  for (let poll = 0; poll < READY_POLLS; poll += 1) {
    const found = await statesOf(monitors);
    const isReady = ({ meta_cluster: meta }: Jsz): boolean =>
      meta?.cluster_size === NAMES.length && meta.leader !== undefined;
    if (found.every(isReady)) return true;
    await sleep(READY_POLL_MS);
  }
  return false;
}

async function leaderOf(stream: string, monitors: readonly string[]): Promise<string | undefined> {
  return (await statesOf(monitors))
    .flatMap(({ account_details: accounts = [] }) => accounts)
    .flatMap(({ stream_detail: streams = [] }) => streams)
    .find(({ name }) => name === stream)?.cluster?.leader;
}

async function startProxy(to: number) {
  let isCut = false;
  const pairs = new Set<readonly [Socket, Socket]>();
  const join = ([client, server]: readonly [Socket, Socket]) => client.pipe(server).pipe(client);
  const proxy = createServer((client) => {
    const pair = [client, connect(to, '127.0.0.1')] as const;
    pairs.add(pair);
    for (const socket of pair) {
      socket.on('error', () => undefined);
      socket.once('close', () => {
        pairs.delete(pair);
        for (const each of pair) each.destroy();
      });
    }
    if (!isCut) join(pair);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    cut: () => {
      isCut = true;
      for (const [client, server] of pairs) {
        client.unpipe(server).pause();
        server.unpipe(client).pause();
      }
    },
    mend: () => {
      isCut = false;
      for (const pair of pairs) join(pair);
    },
    close: () => {
      proxy.close();
      for (const pair of pairs) for (const socket of pair) socket.destroy();
    },
  };
}
