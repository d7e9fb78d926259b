/**
 * Two receivers and three mirrors as processes over three NATS servers, while each kind of process is killed or
 * stopped, disks are lost and a port is cut. MACHINES_RATE (deliveries per second), MACHINES_SECONDS (the least duration of
 * the traffic) and MACHINES_WRONG_MS (how long a trusted row may be wrong) make it harder.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, type TestContext } from 'vitest';
import { bodyHash } from '../../src/receiver/inbox-writer.ts';
import type { DeliveryRecord } from '../../src/sandbox/network/deliveries.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import {
  eventually,
  inboxRows,
  plainVariants,
  proveWayIn,
  rows,
  startMirror,
  startService,
  temporaryFolder,
  untilEqual,
  untilLive,
  untilNone,
  type Owner,
  type RunningMirror,
} from '../process/harness.ts';
import { present } from '../shared/present.ts';
import { lacking, startCluster, type NatsCluster } from './nats-cluster.ts';

const PER_SECOND = Number(process.env['MACHINES_RATE'] ?? 100);
const LEAST_SECONDS = Number(process.env['MACHINES_SECONDS'] ?? 0);
/** With the traffic, until every mirror has everything. */
const timeout = 300_000 + 2_000 * LEAST_SECONDS;
const LEVELS: number = 100;
/** Longer than a standstill and a gap in the heartbeats that count. */
const HELD_MS = 4_000;
/** Longer than a host may be silent. */
const HELD_LONG_MS = 15_000;
const NO_QUORUM_MS = 15_000;
const TICK_MS = 10;
const WATCHED_EVERY_MS = 1_000;
const PROVED_EVERY_MS = 1_000;
/** On a quiet machine 10 s; a busy one decides and writes the state later. */
const WRONG_MS = Number(process.env['MACHINES_WRONG_MS'] ?? 30_000);

const skipped = lacking();
/** It takes a minute of both cores. */
const skippedLong = skipped === '' && LEAST_SECONDS === 0 ? ' (skipped: set MACHINES_SECONDS)' : skipped;

interface Machines {
  readonly cluster: NatsCluster;
  readonly receiver: Host;
  /** Receiver and mirror. */
  readonly both: Host;
  readonly mirror: Host;
  readonly load: Load;
}

type Host = Awaited<ReturnType<typeof startHost>>;
type Load = ReturnType<typeof startLoad>;
type Faults = Readonly<Record<string, () => Promise<void>>>;

test.skipIf(skipped !== '')(
  `keeps every answered delivery on every mirror while hosts fail${skipped}`,
  { timeout },
  (t) =>
    keepsAll(t, ({ receiver, both, mirror }) => ({
      'a receiver is killed': () => killed(receiver),
      'a receiver vanishes': async () => {
        // One that the stream does not know yet, after a slow start, cannot be missed.
        const healthUrl = receiver.webhookUrl().replace('/webhooks', '/healthz');
        await eventually(async () => (await fetch(healthUrl)).ok, { what: 'the stream knows the receiver' });
        const found = [both, mirror].map(({ inbox }) => inbox.gaps());
        await receiver.kill();
        for (const [at, { inbox }] of [both, mirror].entries()) {
          const isUnknown = (): string[] => (inbox.gaps() > present(found[at]) ? [] : ['no missed row']);
          await untilNone(isUnknown, { what: 'every mirror reads everything' });
        }
        await receiver.start();
      },
      'a receiver with a mirror stands still': () => held(both),
      'a mirror is killed': () => killed(mirror),
      'a mirror stands still': () => held(mirror),
    })),
);

test.skipIf(skippedLong !== '')(
  `keeps every answered delivery on every mirror while hosts stand still for long or lose their disks${skippedLong}`,
  { timeout },
  (t) =>
    keepsAll(t, ({ receiver, mirror, load }) => ({
      'a receiver stands still for long': () => held(receiver, HELD_LONG_MS),
      'a mirror stands still for long': () => held(mirror, HELD_LONG_MS),
      'the disk of a receiver is lost': async () => {
        await receiver.kill();
        load.excuse(receiver.inbox.unpublished());
        receiver.loseDisk();
        await sleep(HELD_MS);
        await receiver.start();
      },
      'the disk of a mirror is lost': async () => {
        await mirror.kill();
        mirror.loseDisk();
        await mirror.start();
        await untilLive(mirror);
        // A new mirror begins at the end of the stream, and reads everything.
        mirror.inbox.begin(load.acknowledged());
      },
    })),
);

test.skipIf(skipped !== '')(
  `keeps every answered delivery on every mirror while servers fail${skipped}`,
  { timeout },
  (t) =>
    keepsAll(t, ({ cluster }) => ({
      'the leader is killed': async () => killed(await cluster.leader('stock-mirror')),
      'the leader stands still': async () => held(await cluster.leader('stock-mirror')),
      'the port of the leader is cut': async () => {
        const leader = await cluster.leader('stock-mirror');
        leader.cut();
        await sleep(HELD_MS);
        leader.mend();
      },
      // Repeated messages are then acknowledged before they are stored.
      'the leader restarts, and the two others are killed': async () => {
        const leader = await cluster.leader('stock-mirror');
        await leader.kill();
        leader.start();
        const others = cluster.servers.filter(({ name }) => name !== leader.name);
        await Promise.all(others.map((server) => server.kill()));
        await sleep(NO_QUORUM_MS);
        for (const server of others) server.start();
      },
    })),
);

async function keepsAll(t: TestContext, faultsOf: (machines: Machines) => Faults): Promise<void> {
  const cluster = await startCluster(t);
  const sandbox = await startService(t, { products: 300 });
  const start = (role: string) => startHost(t, { sandbox, cluster, role });
  const receiver = await start('receiver');
  const both = await start('both');
  const mirror = await start('mirror');
  const mirrors = [both, mirror, await start('mirror')];
  // A new mirror begins at the end of the stream, so earlier webhooks prove nothing to it.
  const proving = setInterval(() => {
    proveWayIn(receiver.webhookUrl(), sandbox.webhookSecret).catch(() => undefined);
  }, PROVED_EVERY_MS);
  t.onTestFinished(() => clearInterval(proving));
  for (const each of mirrors) await untilLive(each);
  clearInterval(proving);

  const trust = watchTrust(t, sandbox, mirrors);
  const report: Record<string, object> = {};
  const load = startLoad(t, sandbox, [receiver, both], trust.note);
  const deadline = performance.now() + LEAST_SECONDS * 1_000;
  do {
    for (const [what, fault] of Object.entries(faultsOf({ cluster, receiver, both, mirror, load }))) {
      await fault();
      for (const { inbox } of mirrors) {
        await inbox.untilAll(load.acknowledged(), `everything arrives after: ${what}`);
      }
      report[what] = load.report();
    }
  } while (performance.now() < deadline);
  await load.stop();
  await t.annotate(JSON.stringify({ ...report, 'the end': load.report(), trusted: trust.report() }));
  expect(trust.wrong()).toEqual([]);

  for (const { inbox } of mirrors) {
    inbox.readAgain();
    await inbox.untilAll(load.acknowledged(), 'everything arrives');
  }
  // No read of everything: a delivery that was lost shows in the next one of its level.
  for (const each of mirrors) await untilEqual(each, sandbox);
}

async function startHost(
  test: Owner,
  { sandbox, cluster, role }: { sandbox: Sandbox; cluster: NatsCluster; role: string },
) {
  const folder = temporaryFolder(test);
  const start = (): Promise<RunningMirror> =>
    startMirror(test, sandbox, { folder, env: { ...cluster.env, ROLE: role } });
  let running = await start();
  const { databasePath } = running;
  return {
    databasePath,
    inbox: inboxOf(databasePath),
    /** Each start takes another port. */
    webhookUrl: () => running.webhookUrl,
    start: async () => void (running = await start()),
    kill: () => running.kill(),
    loseDisk: () => {
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
    },
    signal: (name: NodeJS.Signals) => running.signal(name),
  };
}

interface Victim {
  signal(name: NodeJS.Signals): void;
  kill(): Promise<unknown>;
  start(): unknown;
}

async function killed(process: Victim): Promise<void> {
  await process.kill();
  await sleep(HELD_MS);
  await process.start();
}

async function held(process: Pick<Victim, 'signal'>, forMs = HELD_MS): Promise<void> {
  process.signal('SIGSTOP');
  await sleep(forMs);
  process.signal('SIGCONT');
}

/**
 * Spreads deliveries over the receivers in turn, as a balancer without health checks. The changes of one level go to each
 * receiver in turn, too: the next one shows that one was lost at a receiver that failed.
 */
function startLoad(
  test: Owner,
  sandbox: Sandbox,
  receivers: readonly { webhookUrl(): string }[],
  note: (variantId: string) => void,
) {
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
    const round = Math.floor(sent / levels.length);
    network.webhookUrl = present(receivers[(sent + round) % receivers.length]).webhookUrl();
    note(level.variantId);
    operations.add({ ...level, by: sent % 3 === 0 ? -1 : 1 });
    note(level.variantId);
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
    /** They were lost with the only disk that had them. */
    excuse: (hashes: readonly string[]): void => hashes.forEach((hash) => acknowledged.delete(hash)),
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

/**
 * Compares the trusted rows of each mirror with the store once a second. A row is wrong if the store has not
 * had its quantity for `WRONG_MS`: changes on their way make every row a little late.
 */
function watchTrust(test: Owner, sandbox: Sandbox, mirrors: readonly { readonly databasePath: string }[]) {
  /** When each level last had each quantity; monotonic. */
  const hadAtMs = new Map<string, Map<number, number>>();
  const wrong: string[] = [];
  let seen = 0;
  let longestMs = 0;
  const note = ({ id, levels }: (typeof sandbox.truth.variants)[number]): void => {
    for (const { warehouseId, onHand, reserved } of levels) {
      const key = `${id} ${warehouseId}`;
      const had = hadAtMs.get(key) ?? new Map<number, number>();
      hadAtMs.set(key, had.set(onHand - reserved, performance.now()));
    }
  };
  const check = (): void => {
    sandbox.truth.variants.forEach(note);
    const nowMs = performance.now();
    for (const { databasePath } of mirrors) {
      // A mirror that lost its disk has not begun again.
      if (!existsSync(databasePath)) continue;
      const trusted = rows<{ readonly key: string; readonly qty: number }>(
        databasePath,
        `SELECT variant_id || ' ' || warehouse_id AS key, available_qty AS qty FROM mirror_sellable
         WHERE trusted = 1 AND warehouse_id IS NOT NULL`,
      );
      seen += trusted.length;
      for (const { key, qty } of trusted) {
        const agoMs = nowMs - (hadAtMs.get(key)?.get(qty) ?? -Infinity);
        longestMs = Math.max(longestMs, agoMs);
        if (agoMs > WRONG_MS)
          wrong.push(`${databasePath}: ${key} has ${qty}, which was right ${agoMs} ms ago`);
      }
    }
  };
  sandbox.truth.variants.forEach(note);
  const timer = setInterval(check, WATCHED_EVERY_MS);
  test.onTestFinished(() => clearInterval(timer));
  return {
    /** Call it before and after each change: a quantity may hold for an instant only. */
    note: (variantId: string): void =>
      note(present(sandbox.truth.variants.find(({ id }) => id === variantId))),
    /** How many rows were compared, and the most by which one was late. */
    report: () => ({ rows: seen, latestMs: Math.round(longestMs) }),
    wrong: () => wrong.slice(0, 10),
  };
}

/** Reads only new rows, since it delays the sender. */
function inboxOf(databasePath: string) {
  let excused: readonly string[] = [];
  let found = new Set<string>();
  let lastSeq = 0;
  const readAgain = (): void => {
    found = new Set(excused);
    lastSeq = 0;
  };
  const sql = 'SELECT seq, lower(hex(body_hash)) AS hash FROM inbox WHERE seq > ? ORDER BY seq';
  const lacks = (hashes: readonly string[]): string[] => {
    for (const { seq, hash } of inboxRows<{ seq: number; hash: string }>(databasePath, sql, lastSeq)) {
      found.add(hash);
      lastSeq = seq;
    }
    return hashes.filter((hash) => !found.has(hash));
  };
  return {
    untilAll: (hashes: readonly string[], what: string) => untilNone(() => lacks(hashes), { what }),
    /** The file is a new one, and need not have these. */
    begin: (hashes: readonly string[]): void => {
      excused = hashes;
      readAgain();
    },
    readAgain,
    /** Rows after which everything is read, because of the stream. */
    gaps: (): number =>
      inboxRows(
        databasePath,
        `SELECT seq FROM inbox WHERE kind = 'missed' AND CAST(body AS TEXT) LIKE '%stream_gap%'`,
      ).length,
    /** Deliveries that no other host may have. */
    unpublished: (): string[] =>
      inboxRows<{ hash: string }>(
        databasePath,
        `SELECT lower(hex(body_hash)) AS hash
         FROM inbox
         WHERE from_stream = 0 AND body_hash IS NOT NULL
           AND seq > (SELECT published_seq FROM receiver)`,
      ).map(({ hash }) => hash),
  };
}
