/**
 * Two receivers and two mirrors as processes over three NATS servers, while each kind of process is killed or stopped and
 * a port is cut. MACHINES_RATE (deliveries per second) and MACHINES_SECONDS (the least duration of the traffic) make it harder.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { bodyHash } from '../../src/inbox/inbox.ts';
import type { DeliveryRecord } from '../../src/sandbox/network/deliveries.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import {
  compareWithTruth,
  environmentFor,
  eventually,
  inboxRows,
  memoryFolder,
  MIRROR_FILE,
  plainVariants,
  spawnMirror,
  startService,
  statusOf,
  untilNone,
  type Environment,
  type MirrorProcess,
  type Owner,
} from '../process/harness.ts';
import { present } from '../shared/present.ts';
import { lacking, startCluster, type NatsCluster } from './nats-cluster.ts';

const PER_SECOND = Number(process.env['MACHINES_RATE'] ?? 100);
const LEAST_SECONDS = Number(process.env['MACHINES_SECONDS'] ?? 0);
const LEVELS: number = 100;
/** Longer than a standstill and a gap in the heartbeats that count. */
const HELD_MS = 4_000;
const TICK_MS = 10;

const skipped = lacking();

test.skipIf(skipped !== '')(
  `keeps every answered delivery on every mirror while hosts and servers fail${skipped}`,
  async (t) => {
    const cluster = await startCluster(t);
    const sandbox = await startService(t, { products: 300 });
    const start = (role: string): Promise<Host> => startHost(t, { sandbox, cluster, role });
    const receiver = await start('receiver');
    const both = await start('both');
    const mirror = await start('mirror');
    const mirrors = [both, mirror, await start('mirror')];
    for (const { databasePath } of mirrors) {
      await eventually(() => statusOf(databasePath).state === 'live', { what: 'state live' });
    }

    const inboxes = mirrors.map((host) => new InboxHashes(host));
    const report: Record<string, object> = {};
    const load = startLoad(t, sandbox, [receiver, both]);
    const deadline = performance.now() + LEAST_SECONDS * 1_000;
    const faults: Record<string, () => Promise<void>> = {
      'a receiver is killed': async () => {
        await receiver.kill();
        await sleep(HELD_MS);
        await receiver.start();
      },
      'a receiver with a mirror stands still': () => held(both),
      'a mirror is killed': async () => {
        await mirror.kill();
        await sleep(HELD_MS);
        await mirror.start();
      },
      'a mirror stands still': () => held(mirror),
      'the server that leads the stream is killed': async () => {
        const leader = await cluster.leader('stock-mirror');
        await leader.kill();
        await sleep(HELD_MS);
        leader.start();
      },
      'the server that leads the stream stands still': async () => held(await cluster.leader('stock-mirror')),
      'the port of the server that leads the stream is cut': async () => {
        const leader = await cluster.leader('stock-mirror');
        leader.cut();
        await sleep(HELD_MS);
        leader.mend();
      },
    };
    do {
      for (const [what, fault] of Object.entries(faults)) {
        await fault();
        for (const inbox of inboxes) {
          await inbox.untilAll(load.acknowledged(), `everything arrives after ${what}`);
        }
        report[what] = load.report();
      }
    } while (performance.now() < deadline);
    await load.stop();
    await t.annotate(JSON.stringify({ ...report, 'the end': load.report() }));

    for (const host of mirrors)
      await new InboxHashes(host).untilAll(load.acknowledged(), 'everything arrives');
    // No read of everything: a delivery that was lost shows in the next one of its level.
    for (const { databasePath } of mirrors) {
      await untilNone(() => compareWithTruth(databasePath, sandbox), { what: 'the mirror equals the store' });
    }
  },
);

interface Host {
  readonly databasePath: string;
  /** Of the latest start. */
  readonly webhookUrl: string;
  start(): Promise<void>;
  kill(): Promise<unknown>;
  signal(name: NodeJS.Signals): void;
}

async function startHost(
  test: Owner,
  { sandbox, cluster, role }: { sandbox: Sandbox; cluster: NatsCluster; role: string },
): Promise<Host> {
  const folder = memoryFolder(test);
  const databasePath = join(folder, MIRROR_FILE);
  const env: Environment = { ...environmentFor(sandbox, databasePath), ...cluster.env, ROLE: role };
  let running: MirrorProcess;
  let webhookUrl = '';
  const start = async (): Promise<void> => {
    const child = spawnMirror(test, env, folder);
    running = child;
    let hasEnded = false;
    void child.ended.then(() => (hasEnded = true));
    const line = await eventually(() => (hasEnded ? {} : child.log.find(({ msg }) => msg === 'listening')), {
      what: `the ${role} listens`,
    });
    if (hasEnded) throw new Error(`the ${role} ended: ${child.stderr}`);
    webhookUrl = String(line['webhooks']);
  };
  await start();
  return {
    databasePath,
    get webhookUrl() {
      return webhookUrl;
    },
    start,
    kill: () => {
      running.signal('SIGKILL');
      return running.ended;
    },
    signal: (name) => running.signal(name),
  };
}

async function held(process: { signal(name: NodeJS.Signals): void }): Promise<void> {
  process.signal('SIGSTOP');
  await sleep(HELD_MS);
  process.signal('SIGCONT');
}

/** Spreads deliveries over the receivers in turn, as a balancer without health checks. */
function startLoad(test: Owner, sandbox: Sandbox, receivers: readonly Host[]) {
  const { network, operations, deliveries } = sandbox;
  const levels = plainVariants(sandbox, LEVELS);
  const acknowledged = new Set<string>();
  /** By variant. */
  const latest = new Map<string, DeliveryRecord>();
  const outcomes: Record<string, number> = {};
  let slowestMs = 0;
  test.onTestFinished(
    deliveries.onSettled((record) => {
      const { delivery, outcome, status, ms } = record;
      const name = outcome === 'answered' ? String(status) : outcome;
      outcomes[name] = (outcomes[name] ?? 0) + 1;
      const variantId = present(delivery.items[0]).id;
      if (delivery.requestId >= (latest.get(variantId)?.delivery.requestId ?? ''))
        latest.set(variantId, record);
      if (status !== 204) return;
      acknowledged.add(bodyHash(delivery.body).toString('hex'));
      slowestMs = Math.max(slowestMs, ms ?? 0);
    }),
  );
  network.concurrency = 1_000;
  let sent = 0;
  const send = (level: (typeof levels)[number]): void => {
    network.webhookUrl = present(receivers[sent % receivers.length]).webhookUrl;
    operations.add({ ...level, by: sent % 3 === 0 ? -1 : 1 });
    sent += 1;
  };
  const startedMs = performance.now();
  const timer = setInterval(() => {
    const due = ((performance.now() - startedMs) * PER_SECOND) / 1_000;
    while (sent < due) send(present(levels[sent % levels.length]));
  }, TICK_MS);
  test.onTestFinished(() => clearInterval(timer));
  return {
    report: () => ({ ...outcomes, slowestMs: Math.round(slowestMs) }),
    acknowledged: (): string[] => [...acknowledged],
    /** Ends with an acknowledged delivery of each level, which shows whether one before it was lost. */
    stop: async (): Promise<void> => {
      clearInterval(timer);
      for (;;) {
        await network.idle();
        const lost = levels.filter(({ variantId }) => latest.get(variantId)?.status !== 204);
        if (lost.length === 0) return;
        lost.forEach(send);
      }
    },
  };
}

/** Reads only new rows, since it delays the sender. */
class InboxHashes {
  readonly #databasePath: string;
  readonly #found = new Set<string>();
  #lastSeq = 0;

  constructor({ databasePath }: Host) {
    this.#databasePath = databasePath;
  }

  async untilAll(hashes: readonly string[], what: string): Promise<void> {
    await untilNone(
      () => {
        const sql = 'SELECT seq, lower(hex(body_hash)) AS hash FROM inbox WHERE seq > ? ORDER BY seq';
        for (const { seq, hash } of inboxRows<{ seq: number; hash: string }>(
          this.#databasePath,
          sql,
          this.#lastSeq,
        )) {
          this.#found.add(hash);
          this.#lastSeq = seq;
        }
        return hashes.filter((hash) => !this.#found.has(hash));
      },
      { what },
    );
  }
}
