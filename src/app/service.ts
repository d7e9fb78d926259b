/** Builds the running mirror from its parts. */
import { uptime } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { isLoopback, type Config, type Endpoint } from '../config/config.ts';
import { createIntakeApp } from '../intake/app.ts';
import { createHeartbeat } from '../intake/heartbeat.ts';
import { UnstoredDeliveries } from '../intake/unstored.ts';
import { prunePeriodically } from '../mirror/retention.ts';
import type { createOpsApp } from '../ops/app.ts';
import { Monitor } from '../ops/monitor.ts';
import { StateSampler } from '../ops/state/state-sampler.ts';
import { Timeline } from '../ops/state/timeline.ts';
import { listen, type Listener } from '../platform/listen.ts';
import type { Logger } from '../platform/log.ts';
import { openMirror, REAL_MIRROR, type MirrorPlatform } from './mirror.ts';
import { missedSince } from './downtime.ts';

export interface Platform extends MirrorPlatform {
  readonly listen: typeof listen;
  /** Loads the private listener's application, which no webhook needs. */
  readonly loadOps: () => Promise<{ readonly createOpsApp: typeof createOpsApp }>;
}

export const REAL: Platform = { ...REAL_MIRROR, listen, loadOps: () => import('../ops/app.ts') };

export interface RunningService {
  readonly webhook: Listener;
  readonly ops: Listener;
  /** The content of `GET /metrics`; the process may add its own metrics once. */
  readonly metrics: Registry;
  stop(): Promise<void>;
}

/** Grace for requests under way at a stop. */
const DRAIN_MS = 1_500;
/** How long a start waits for the mirror, which deliveries do not need. */
const MIRROR_WAIT_MS = 10_000;

export async function startService(
  config: Config,
  log: Logger,
  onDeath: (error: Error) => void,
  platform: Platform = REAL,
): Promise<RunningService> {
  const monitor = new Monitor();
  const opening = openMirror({ config, log, onDeath, platform, monitor });
  // Load while the threads start.
  const loading = platform.loadOps();
  loading.catch(() => undefined);
  const mirror = await opening;
  const { store, reconciler, clock } = mirror;
  const { reader, writer } = store;
  const { now } = clock;
  const { retentionDays, warehouseNames } = config;
  const sampler = new StateSampler({ reader, now, log });
  const timeline = new Timeline({ reader, writer, sampler, now, log });
  const watch = monitor.watch({
    store,
    sampler,
    operator: reconciler,
    now,
    log,
    plotted: timeline,
  });
  const unstored = new UnstoredDeliveries({ writer, now, log });
  /** The mirror's file must show a downtime before it shows a heartbeat. */
  const show = async (atMs: number): Promise<void> => {
    if (mirror.missedSinceMs === null) await writer.command('alive', { atMs, clockMs: now() });
  };
  const heartbeat = createHeartbeat(
    {
      beat: (atMs) => {
        const { missedSinceMs } = mirror;
        return store.inbox.beat({
          atMs,
          clockMs: now(),
          missedSinceMs,
          changeSeq: store.mirror.position.changeSeq,
          stream: null,
        });
      },
      show,
    },
    Date.now,
  );
  const stopping = new AbortController();
  const listeners: Listener[] = [];
  const listenAt = async (app: Parameters<typeof listen>[0], at: Endpoint): Promise<Listener> => {
    const listener = await platform.listen(app, at.host, at.port, at.fd);
    listeners.push(listener);
    return listener;
  };
  const stop = async (graceMs: number): Promise<void> => {
    stopping.abort();
    await Promise.all(listeners.map((listener) => listener.stop(graceMs)));
    await unstored.stop();
    await heartbeat.stop();
    // These still write to the mirror.
    await sampler.stop();
    watch.stop();
    await timeline.stop();
    await mirror.close();
  };

  try {
    const intake = createIntakeApp({
      inbox: store.inbox,
      unstored,
      secrets: config.service.webhookSecrets.map((secret) => secret.reveal()),
      now,
      heartbeat,
      observer: monitor.observer(now),
      log,
    });
    // Listen before reading anything: a change that a read misses must arrive as a delivery.
    const webhook = await listenAt(intake, config.webhook);
    const bootedAtMs = Date.now() - uptime() * 1_000;
    const isInherited = config.webhook.fd !== undefined;
    const sinceMs = missedSince({ ...store.inbox.metadata, isInherited, bootedAtMs });
    if (sinceMs !== null) mirror.missed(sinceMs);
    heartbeat.begin();
    const { createOpsApp } = await loading;
    const app = createOpsApp({
      reader,
      writer,
      operator: reconciler,
      token: config.ops.token?.reveal() ?? null,
      readToken: config.ops.readToken?.reveal() ?? null,
      metrics: monitor.registry,
      state: sampler,
      watch: watch.state,
      timeline,
      warehouseNames,
      now,
      log,
      stopping: stopping.signal,
    });
    const ops = await listenAt(app, config.ops);
    refuseOpenDoor(config, ops);
    watch.start();
    timeline.start();
    sampler.start();
    clock.onStandstill((silentMs) => {
      watch.stoodStill();
      mirror.missed(Date.now() - silentMs);
    });
    reconciler.start();
    void prunePeriodically(
      { inbox: store.inbox, mirror: store.mirror, now, log, retentionDays },
      stopping.signal,
    );
    await heartbeat.check();
    const tried = async (): Promise<boolean> => {
      await store.mirror.tried;
      await mirror.prepared;
      await show(Date.now()).catch(() => undefined);
      return true;
    };
    if (!(await Promise.race([tried(), wait(MIRROR_WAIT_MS, false, { ref: false })]))) {
      log.warn('the mirror is still being opened; deliveries are accepted meanwhile');
    }
    return { webhook, ops, metrics: monitor.registry, stop: () => stop(DRAIN_MS) };
  } catch (error) {
    await stop(0);
    throw error;
  }
}

/** The address of an inherited socket is known only now. */
function refuseOpenDoor({ ops }: Pick<Config, 'ops'>, { host, port }: Listener): void {
  if (ops.fd === undefined || ops.token !== null || isLoopback(host)) return;
  throw new Error(
    `the socket passed as ops listens on ${host}:${port}, which other machines can reach: set OPS_TOKEN, or use a loopback ListenStream`,
  );
}
