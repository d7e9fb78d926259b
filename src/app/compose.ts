/** The composition of a running mirror: everything is built here once and passed inward. */
import type { Registry } from 'prom-client';
import { createClock, type Clock } from './clock.ts';
import { isLoopback, type Config, type Endpoint } from '../config/config.ts';
import { silenceMs } from '../core/silence.ts';
import { createIntakeApp } from '../intake/app.ts';
import { createHeartbeat } from '../intake/heartbeat.ts';
import { observedBy } from '../intake/observer.ts';
import { UnstoredDeliveries } from '../intake/unstored.ts';
import { listen, type Listener } from '../platform/listen.ts';
import type { Logger } from '../platform/log.ts';
import type { createOpsApp } from '../ops/app.ts';
import { Monitor } from '../ops/monitor.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import {
  connectService,
  type ServiceConnection,
  type ServiceConnectionOptions,
} from '../store-api/connect.ts';
import { openStore } from '../mirror/open-store.ts';
import { createRetention } from '../mirror/retention.ts';
import type { Store } from '../mirror/store.ts';
import { createReading } from './reading.ts';
import { createShowing } from './showing.ts';
import { nameWarehouses, tellFacts, tellNews } from './store-wiring.ts';
import { untilCommitted } from './until-committed.ts';

/** The host's clock may be set by up to this much between two starts before that counts. */
const CLOCK_TOLERANCE_MS = 5_000;

/** What the mirror stands on. Real, except in a simulation. */
export interface Platform {
  readonly openStore: typeof openStore;
  readonly connect: (options: ServiceConnectionOptions) => ServiceConnection;
  readonly listen: typeof listen;
  /** The private listener's application: the half of the program that no webhook needs. */
  readonly loadOps: () => Promise<{ readonly createOpsApp: typeof createOpsApp }>;
  /** In [0, 1). */
  readonly random: () => number;
}

export const REAL: Platform = {
  openStore,
  connect: connectService,
  listen,
  loadOps: () => import('../ops/app.ts'),
  random: Math.random,
};

export interface Mirror {
  readonly store: Store;
  readonly reconciler: Reconciler;
  readonly clock: Clock;
  /** How long nothing listened before this start; null on the first one. @throws StoreError */
  silenceMs(): Promise<number | null>;
  /** Stops reading, then closes the database. */
  close(): Promise<void>;
}

interface MirrorParts {
  readonly config: Config;
  readonly log: Logger;
  readonly onDeath: (error: Error) => void;
  readonly platform?: Platform;
  readonly monitor?: Monitor | null;
}

/**
 * The mirror without its listeners: database, client, reconciler. Nothing is read before `reconciler.start()`.
 *
 * @param onDeath called when a thread of the database ends by itself: the process cannot continue.
 * @param monitor receives commits and the outcome of each request to the store.
 * @throws StoreError
 */
export async function openMirror({
  config,
  log,
  onDeath,
  platform = REAL,
  monitor = null,
}: MirrorParts): Promise<Mirror> {
  const store = await platform.openStore(config.database.path, {
    onDeath,
    onCommit: monitor?.onCommit,
    ...tellNews(log),
    onHealed: () => {
      void readAgain();
      void name();
    },
  });
  // From the event log, which is there: the mirror is still being opened.
  const { life } = store;
  const clock = createClock(Math.max(life.aliveAtMs ?? 0, life.lastAtMs ?? 0));
  const reading = createReading({ config, store, clock, log, platform, monitor });
  const { reconciler } = reading;
  const closing = new AbortController();
  /** A new epoch may have begun with the new file: as after a start, all is compared with the store. */
  const readAgain = async (): Promise<void> => {
    try {
      await untilCommitted(() => reconciler.repairSilence(0), closing.signal);
    } catch (error) {
      if (closing.signal.aborted) return;
      log.error(
        { err: error },
        'the mirror’s file was made anew, and what it lacks is not being read: run `stock-mirror resync`',
      );
    }
  };
  /** Only this process knows them: a mirror's file that is made anew has none. */
  const name = (): Promise<void> => nameWarehouses({ store, config, log }, closing.signal);
  // A mirror that cannot be opened is told of by who waits for it.
  store.opened.then(name, () => undefined);
  tellFacts(store, log);
  return {
    store,
    reconciler,
    clock,
    async silenceMs(): Promise<number | null> {
      const filledAtMs = await store.reader.ask('lastFullSync');
      // A database that was filled without ever listening has been silent since it was filled.
      const lastAtMs = life.aliveAtMs ?? filledAtMs;
      return lastAtMs === null ? null : silenceMs(lastAtMs, Date.now(), CLOCK_TOLERANCE_MS);
    },
    async close(): Promise<void> {
      closing.abort();
      await reading.stop();
      await store.close();
    },
  };
}

function heartbeatOf({ writer }: Pick<Store, 'writer'>) {
  return {
    beat: (atMs: number) => writer.beat(atMs),
    show: (atMs: number) => writer.command('alive', { atMs }),
  };
}

export interface RunningService {
  readonly webhook: Listener;
  readonly ops: Listener;
  /** The content of `GET /metrics`; the process may add its own figures once. */
  readonly metrics: Registry;
  /** Stops accepting, drains, writes the last heartbeat, closes. */
  stop(): Promise<void>;
}

/** How long requests under way may take when the mirror stops. */
const DRAIN_MS = 1_500;

/** @throws StoreError, or Error when a port cannot be listened on. */
export async function startService(
  config: Config,
  log: Logger,
  onDeath: (error: Error) => void,
  platform: Platform = REAL,
): Promise<RunningService> {
  const monitor = new Monitor();
  const opening = openMirror({ config, log, onDeath, platform, monitor });
  // While the threads start.
  const loading = platform.loadOps();
  loading.catch(() => undefined);
  const mirror = await opening;
  const { store, reconciler, clock } = mirror;
  const retention = createRetention({
    writer: store.writer,
    now: clock.now,
    log,
    retentionDays: config.retentionDays,
  });
  const stopping = new AbortController();
  const showing = createShowing({
    config,
    store,
    monitor,
    operator: reconciler,
    now: clock.now,
    log,
    stopping: stopping.signal,
  });
  const unstored = new UnstoredDeliveries({ writer: store.writer, now: clock.now, log });
  const heartbeat = createHeartbeat(heartbeatOf(store), Date.now);
  const stopParts = async (): Promise<void> => {
    await unstored.stop();
    await heartbeat.stop();
    await showing.stop();
    await mirror.close();
  };

  const listeners: Listener[] = [];
  try {
    const intake = createIntakeApp({
      writer: store.writer,
      unstored,
      secrets: config.service.webhookSecrets.map((secret) => secret.reveal()),
      now: clock.now,
      heartbeat,
      observer: observedBy(monitor.observer(clock.now), () => showing.observer),
      log,
    });
    // Listen before anything is read: a change that a read misses must arrive as a delivery.
    const webhook = await listenAt(platform, intake, config.webhook);
    listeners.push(webhook);
    // `/healthz` waits for the heartbeat, and the heartbeat not for the mirror, which is still being opened.
    const repairing = untilCommitted(
      async () => reconciler.repairSilence(await mirror.silenceMs(), () => heartbeat.begin()),
      stopping.signal,
    );
    repairing.catch(() => undefined);
    await store.opened;
    const ops = showing.app((await loading).createOpsApp);
    const opsListener = await listenAt(platform, ops, config.ops);
    listeners.push(opsListener);
    refuseOpenDoor(config, opsListener);
    showing.start();
    await repairing;
    await heartbeat.check();
    clock.onStandstill((silentMs) => {
      showing.stoodStill();
      reconciler.repairSilence(silentMs).catch((error: unknown) => {
        log.error(
          { err: error },
          'the database failed: deliveries missed while the process stood still are not being repaired; run `stock-mirror resync`',
        );
      });
    });
    reconciler.start();
    retention.start();
    return {
      webhook,
      ops: opsListener,
      metrics: monitor.registry,
      async stop(): Promise<void> {
        retention.stop();
        store.leave();
        stopping.abort();
        await Promise.all(listeners.map((listener) => listener.stop(DRAIN_MS)));
        await stopParts();
      },
    };
  } catch (error) {
    await Promise.all(listeners.map((listener) => listener.stop(0)));
    await stopParts();
    throw error;
  }
}

export function listenAt(
  platform: Pick<Platform, 'listen'>,
  app: Parameters<typeof listen>[0],
  at: Endpoint,
): Promise<Listener> {
  return platform.listen(app, at.host, at.port, at.fd);
}

/** The address of a passed socket is known only now. */
export function refuseOpenDoor({ ops }: Pick<Config, 'ops'>, { host, port }: Listener): void {
  if (ops.fd === undefined || ops.token !== null || isLoopback(host)) return;
  throw new Error(
    `the socket passed as ops listens on ${host}:${port}, which other machines can reach: set OPS_TOKEN, or use a loopback ListenStream`,
  );
}
