/** What is done to the nine processes while deliveries come in: each kind of them in turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import { leaderOf } from '../../test/replication/nats/leader-of.ts';
import type { Cluster } from '../../test/replication/nats/server.ts';
import type { ClusterNode } from './node.ts';

interface CourseDeps {
  readonly engine: Cluster;
  readonly receivers: readonly ClusterNode[];
  readonly replicas: readonly ClusterNode[];
}

interface Fault {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/** Until it is started again, or goes on. */
const DOWN_MS = 3_000;
/** Longer than the lease lasts. */
const PAUSE_MS = 13_000;
const TAKEN_OVER_WITHIN_MS = 15_000;

export class Course {
  readonly #deps: CourseDeps;
  readonly problems: string[] = [];
  /** From when the lead was gone to another one that reads. */
  readonly takeoverMs: number[] = [];

  constructor(deps: CourseDeps) {
    this.#deps = deps;
  }

  /** In the order in which they come. */
  get faults(): readonly Fault[] {
    const { engine, receivers, replicas } = this.#deps;
    const killed =
      (node: ClusterNode | undefined): (() => Promise<void>) =>
      async () => {
        await node?.end('SIGKILL');
        await sleep(DOWN_MS);
        node?.start();
      };
    return [
      { name: 'a receiver is killed', run: killed(receivers[0]) },
      { name: 'a server of the engine is killed', run: () => this.#killServer(0) },
      { name: 'the lead is killed', run: () => this.#killLead() },
      { name: 'a replica is killed', run: async () => killed(await this.#notLeading())() },
      { name: 'the leader of the stream is killed', run: () => this.#killServer(null) },
      { name: 'a receiver stands still', run: () => this.#freeze(receivers[1], DOWN_MS) },
      {
        name: 'the lead stands still, and comes back',
        run: async () => this.#freeze(await this.#leading(), PAUSE_MS),
      },
      { name: 'a receiver is cut off from the engine', run: () => this.#cutOff(receivers[2], DOWN_MS) },
      { name: 'the lead is cut off from the engine, and comes back', run: () => this.#cutOffLead() },
      { name: 'a server of the engine stands still', run: () => this.#freezeServer(1) },
      { name: 'a receiver is redeployed', run: () => this.#redeploy(receivers[2]) },
      {
        name: 'all servers of the engine are killed at once',
        run: async () => {
          await engine.kill();
          await sleep(DOWN_MS);
          await engine.start();
        },
      },
      {
        name: 'two replicas are killed at once',
        run: async () => {
          await Promise.all(replicas.slice(0, 2).map((node) => node.end('SIGKILL')));
          await sleep(DOWN_MS);
          for (const node of replicas.slice(0, 2)) node.start();
        },
      },
    ];
  }

  /** Waits for one that reads from the store. */
  async untilLed(withinMs: number, besides: ClusterNode | null = null): Promise<ClusterNode | null> {
    const untilMs = performance.now() + withinMs;
    while (performance.now() < untilMs) {
      const lead = await this.#leading(besides);
      if (lead !== undefined) return lead;
      await sleep(100);
    }
    return null;
  }

  async #killLead(): Promise<void> {
    const lead = await this.untilLed(TAKEN_OVER_WITHIN_MS);
    if (lead === null) return void this.problems.push('no replica leads');
    await lead.end('SIGKILL');
    await this.#tookOver(lead);
    lead.start();
  }

  /** @returns false, and notes it, when no other one leads in time. */
  async #tookOver(lead: ClusterNode): Promise<boolean> {
    const goneMs = performance.now();
    const next = await this.untilLed(TAKEN_OVER_WITHIN_MS, lead);
    if (next === null) this.problems.push(`no other replica led within ${TAKEN_OVER_WITHIN_MS / 1_000} s`);
    else this.takeoverMs.push(performance.now() - goneMs);
    return next !== null;
  }

  async #leading(besides: ClusterNode | null = null): Promise<ClusterNode | undefined> {
    for (const node of this.#deps.replicas) {
      if (node === besides || node.pid === null) continue;
      const view = (await node.ask('/api/replication')) as { lead?: { is_leading?: boolean } } | null;
      if (view?.lead?.is_leading === true) return node;
    }
    return undefined;
  }

  async #notLeading(): Promise<ClusterNode | undefined> {
    const lead = await this.#leading();
    return this.#deps.replicas.find((node) => node !== lead && node.pid !== null);
  }

  async #freeze(node: ClusterNode | undefined, ms: number): Promise<void> {
    node?.freeze();
    await sleep(ms);
    node?.thaw();
  }

  async #cutOff(node: ClusterNode | undefined, ms: number): Promise<void> {
    node?.cutOff();
    await sleep(ms);
    node?.reconnect();
  }

  async #cutOffLead(): Promise<void> {
    const lead = await this.untilLed(TAKEN_OVER_WITHIN_MS);
    if (lead === null) return void this.problems.push('no replica leads');
    lead.cutOff();
    const next = await this.#tookOver(lead);
    // It may still have something on its way, and another one reads already.
    if (next) await sleep(DOWN_MS);
    lead.reconnect();
  }

  async #freezeServer(index: number): Promise<void> {
    const server = this.#deps.engine.servers[index];
    server?.freeze();
    await sleep(DOWN_MS);
    server?.thaw();
  }

  async #redeploy(node: ClusterNode | undefined): Promise<void> {
    await node?.end('SIGTERM');
    node?.start();
  }

  /** @param index null: the leader of the stream. */
  async #killServer(index: number | null): Promise<void> {
    const { engine } = this.#deps;
    const leader = index === null ? await leaderOf(engine, 'mirror_store') : undefined;
    const server = leader ?? engine.servers[index ?? 0];
    await server?.kill();
    await sleep(DOWN_MS);
    await server?.start();
  }
}
