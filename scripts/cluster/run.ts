/** Nine processes on loopback, a store that sends to them through a balancer, faults in turn, and the verdict. */
import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { startServers } from '../../test/replication/nats/server.ts';
import { freePort } from '../crash/ports.ts';
import { Balancer } from './balancer.ts';
import { Course } from './course.ts';
import { ClusterNode } from './node.ts';
import { prefer } from './prefer.ts';
import { judge, lastSeqIn, untilAtRest } from './verdict.ts';

interface ClusterOptions {
  readonly seconds: number;
  /** Deliveries. */
  readonly perSecond: number;
  readonly products: number;
  readonly seed: number;
  /** An empty folder of its own. */
  readonly folder: string;
  readonly log: (line: string) => void;
}

export interface ClusterReport {
  readonly problems: readonly string[];
  readonly sent: number;
  readonly answered: number;
  readonly refused: number;
  readonly slowestMs: number;
  /** Offered to a second receiver by the balancer. */
  readonly repeated: number;
  readonly perSecond: number;
  readonly takeoverMs: readonly number[];
  /** From the last delivery until all replicas were at rest, and equal. */
  readonly restMs: number | null;
  readonly entries: number;
}

const NODES = 3;
/** Who answers: the receivers; and what stands for the world, the store and the balancer. */
const BEFORE_OTHERS = -10;
const SETTLED_WITHIN_MS = 60_000;
const REST_WITHIN_MS = 60_000;
/** A store that waits a second. */
const ANSWERED_WITHIN_MS = 1_000;
const FAULT_EVERY_MS = 2_000;
const BEGIN_PARTS = 5;
const BEGIN_EVERY_MS = 500;
/** The traffic counts changes; a delivery of the simulated store has so many of them. */
const CHANGES_A_DELIVERY = 2.9;

export async function runCluster(options: ClusterOptions): Promise<ClusterReport> {
  const { folder, products, seed } = options;
  mkdirSync(folder, { recursive: true });
  prefer(process.pid, BEFORE_OTHERS);
  const sandbox = await startSandbox({ seed, products });
  const engine = await startServers(NODES);
  const env = {
    SERVICE_BASE_URL: sandbox.baseUrl,
    SERVICE_CLIENT_ID: sandbox.clientId,
    SERVICE_CLIENT_SECRET: sandbox.clientSecret,
    SERVICE_WEBHOOK_SECRET: sandbox.webhookSecret,
    SERVICE_MAX_RPS: '100',
    RECONCILE_CRON: 'off',
    RESYNC_CRON: 'off',
    LOG_LEVEL: 'info',
  };
  const nodes = async (name: string, roles: string, priority: number): Promise<ClusterNode[]> => {
    const made: ClusterNode[] = [];
    for (let i = 1; i <= NODES; i += 1) {
      const [port, opsPort] = [await freePort(), await freePort()];
      const at = { name: `${name}-${i}`, folder, roles, port, opsPort, env, priority };
      made.push(
        await ClusterNode.prepare({ ...at, enginePorts: engine.servers.map((server) => server.port) }),
      );
    }
    return made;
  };
  const receivers = await nodes('receiver', 'receive', BEFORE_OTHERS);
  const replicas = await nodes('replica', 'replica,lead', 0);
  const all = [...receivers, ...replicas];
  const balancer = await Balancer.start(receivers.map(({ port }) => port));
  const killAll = (): void => all.forEach((node) => void node.end('SIGKILL'));
  process.once('exit', killAll);
  try {
    for (const node of all) node.start();
    const course = new Course({ engine, receivers, replicas });
    return await new Trial({ options, sandbox, receivers, replicas, balancer, course }).run();
  } finally {
    process.off('exit', killAll);
    await Promise.all(all.map((node) => node.end('SIGKILL')));
    for (const node of all) node.close();
    await balancer.stop();
    await sandbox.stop();
    await engine[Symbol.asyncDispose]();
  }
}

interface TrialDeps {
  readonly options: ClusterOptions;
  readonly sandbox: Awaited<ReturnType<typeof startSandbox>>;
  readonly receivers: readonly ClusterNode[];
  readonly replicas: readonly ClusterNode[];
  readonly balancer: Balancer;
  readonly course: Course;
}

class Trial {
  readonly #deps: TrialDeps;
  readonly #bodies: Uint8Array[] = [];
  readonly #problems: string[] = [];
  #sent = 0;
  #refused = 0;
  #slowestMs = 0;
  #startedMs = 0;
  /** By how they ended, and in which seconds. */
  readonly #failures = new Map<string, { count: number; readonly seconds: Set<number> }>();

  constructor(deps: TrialDeps) {
    this.#deps = deps;
  }

  async run(): Promise<ClusterReport> {
    const { sandbox, balancer, course, options, receivers, replicas } = this.#deps;
    const { log } = options;
    await this.#untilReady();
    log('receivers answer, and a replica leads');
    this.#watchAnswers();
    sandbox.webhookUrl = balancer.url;
    sandbox.network.loss = 0.0005;
    sandbox.network.reorder = 0.01;
    sandbox.network.duplicate = 0.01;
    sandbox.network.concurrency = 256;
    const startedMs = (this.#startedMs = performance.now());
    await this.#begin();
    sandbox.traffic.start(options.perSecond * CHANGES_A_DELIVERY);
    const endMs = startedMs + options.seconds * 1_000;
    for (let i = 0; performance.now() < endMs; i += 1) {
      const fault = course.faults[i % course.faults.length];
      await sleep(Math.max(0, Math.min(FAULT_EVERY_MS, endMs - performance.now())));
      if (fault === undefined || performance.now() >= endMs) break;
      log(`${((performance.now() - startedMs) / 1_000).toFixed(0).padStart(4)} s  ${fault.name}`);
      await fault.run();
      for (const node of [...receivers, ...replicas]) {
        if (node.failure !== null) this.#problems.push(node.failure);
      }
      if (this.#problems.length > 0) break;
    }
    sandbox.traffic.stop();
    const tookMs = performance.now() - startedMs;
    sandbox.network.loss = 0;
    await sandbox.network.flush();
    const stoppedMs = performance.now();
    log('no more deliveries: an operator asks a replica to read everything again');
    await this.#resync();
    const isAtRest = await untilAtRest(replicas, REST_WITHIN_MS);
    const restMs = isAtRest ? performance.now() - stoppedMs : null;
    if (!isAtRest) this.#problems.push('the replicas are not at rest, or not equal, in time');
    this.#problems.push(...course.problems, ...judge(replicas, this.#bodies, sandbox.truth));
    for (const [how, { count, seconds }] of this.#failures) {
      this.#problems.push(`${count} deliveries: ${how}, in the seconds ${[...seconds].join(', ')}`);
    }
    if (this.#slowestMs > ANSWERED_WITHIN_MS) this.#problems.push('an answer took over a second');
    return {
      problems: this.#problems,
      sent: this.#sent,
      answered: this.#bodies.length,
      refused: this.#refused,
      slowestMs: this.#slowestMs,
      repeated: balancer.repeated,
      perSecond: (this.#sent / tookMs) * 1_000,
      takeoverMs: course.takeoverMs,
      restMs,
      entries: Math.max(...replicas.map(lastSeqIn)),
    };
  }

  async #untilReady(): Promise<void> {
    const { receivers, course, replicas } = this.#deps;
    const untilMs = performance.now() + SETTLED_WITHIN_MS;
    for (const { port } of receivers) {
      while (!(await isHealthy(port))) {
        if (performance.now() > untilMs) throw new Error('a receiver does not answer');
        await sleep(100);
      }
    }
    if ((await course.untilLed(untilMs - performance.now())) === null) throw new Error('no replica leads');
    for (const node of replicas) {
      while (((await node.ask('/api/status')) as { state?: string } | null)?.state !== 'live') {
        if (performance.now() > untilMs) throw new Error(`${node.name} is not live in time`);
        await sleep(100);
      }
    }
  }

  #watchAnswers(): void {
    this.#deps.sandbox.deliveries.onSettled(({ delivery, outcome, status, ms }) => {
      if (outcome === 'lost') return;
      this.#sent += 1;
      this.#slowestMs = Math.max(this.#slowestMs, ms ?? 0);
      if (outcome === 'answered' && status === 204) this.#bodies.push(delivery.body);
      else this.#notAnswered(status === null ? outcome : `answered ${status}`);
    });
  }

  /** A store's traffic rises; and processes that have just started are slow at first. */
  async #begin(): Promise<void> {
    const { sandbox, options } = this.#deps;
    for (let part = 1; part < BEGIN_PARTS; part += 1) {
      sandbox.traffic.start((options.perSecond * CHANGES_A_DELIVERY * part) / BEGIN_PARTS);
      await sleep(BEGIN_EVERY_MS);
    }
  }

  #notAnswered(how: string): void {
    this.#refused += 1;
    const atS = Math.floor((performance.now() - this.#startedMs) / 1_000);
    const known = this.#failures.get(how) ?? { count: 0, seconds: new Set<number>() };
    known.count += 1;
    known.seconds.add(atS);
    this.#failures.set(how, known);
  }

  async #resync(): Promise<void> {
    const [node] = this.#deps.replicas;
    const untilMs = performance.now() + SETTLED_WITHIN_MS;
    while (performance.now() < untilMs) {
      const status = await fetch(`http://127.0.0.1:${node?.opsPort}/api/resync`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      }).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 202) return;
      await sleep(250);
    }
    this.#problems.push('no resync could be ordered');
  }
}

async function isHealthy(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(1_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}
