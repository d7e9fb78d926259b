import { setTimeout as wait } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import type { Config } from '../config/config.ts';
import { createHeartbeat } from '../intake/heartbeat.ts';
import { UnstoredDeliveries } from '../intake/unstored.ts';
import { prunePeriodically } from '../mirror/retention.ts';
import type { createOpsApp } from '../ops/app.ts';
import { Monitor } from '../ops/monitor.ts';
import { StateSampler } from '../ops/state/state-sampler.ts';
import { Timeline } from '../ops/state/timeline.ts';
import type { TokenFile } from '../store-api/token/token-file.ts';
import { shareLockout } from '../stream/lockout.ts';
import type { Engine } from '../stream/engine.ts';
import type { NatsOptions } from '../stream/nats.ts';
import { Stream } from '../stream/stream.ts';
import { listen, type Listener } from '../platform/listen.ts';
import type { Logger } from '../platform/log.ts';
import { openMirror, REAL_MIRROR, type MirrorPlatform } from './mirror.ts';
import { missedSince, socketOf } from './downtime.ts';
import { connectStream } from './nats.ts';
import { Ports } from './ports.ts';
import { startReceiver } from './receiver.ts';

export interface Platform extends MirrorPlatform {
  readonly listen: typeof listen;
  readonly connectStream: (options: NatsOptions) => Promise<Engine>;
  /** Loads the private listener's application, which no webhook needs. */
  readonly loadOps: () => Promise<{ readonly createOpsApp: typeof createOpsApp }>;
}

export const REAL: Platform = {
  ...REAL_MIRROR,
  listen,
  connectStream,
  loadOps: () => import('../ops/app.ts'),
};

export interface RunningService {
  /** null if this host takes deliveries only from the stream. */
  readonly webhook: Listener | null;
  readonly ops: Listener;
  /** The content of `GET /metrics`; the process may add its own metrics once. */
  readonly metrics: Registry;
  stop(): Promise<void>;
}

const MIRROR_WAIT_MS = 2_000;
/** For what is left at a stop; its commands would wait until the whole backlog is applied. */
const LAST_COMMANDS_MS = 500;

export async function startService(
  config: Config,
  log: Logger,
  onDeath: (error: Error) => void,
  platform: Platform = REAL,
): Promise<RunningService> {
  const { stream: streamOptions } = config;
  if (config.role === 'receiver' && streamOptions !== null) {
    return startReceiver({ ...config, stream: streamOptions }, log, onDeath, platform);
  }
  const monitor = new Monitor();
  let stream: Stream | null = null;
  const opening = openMirror({
    ...{ config, log, onDeath, platform, monitor },
    onCommit: () => stream?.arrived(),
    ...(streamOptions === null
      ? {}
      : {
          shareTokenState: (file: TokenFile, fingerprint: string) =>
            shareLockout(file, fingerprint, () => stream?.engine ?? null),
        }),
  });
  const loading = platform.loadOps();
  loading.catch(() => undefined);
  const mirror = await opening;
  const { store, reconciler, clock } = mirror;
  const { reader, writer } = store;
  const { now } = clock;
  const { retentionDays, warehouseNames } = config;
  const sampler = new StateSampler({ reader, now, log });
  const timeline = new Timeline({ reader, writer, sampler, now, log });
  if (streamOptions !== null) {
    stream = new Stream({
      connect: () => platform.connectStream(streamOptions),
      inbox: store.inbox,
      mirror: {
        onNotice: async (notice) => {
          if (notice.why !== 'stream_gap' || notice.sinceMs === null) {
            await writer.append({ ...notice, atMs: now() });
            return;
          }
          mirror.missed(notice.sinceMs);
          await beat(Date.now());
        },
        onLost: (sinceMs) => mirror.missed(sinceMs),
      },
      now,
      log,
    });
  }
  const watch = monitor.watch({
    store,
    sampler,
    stream,
    operator: reconciler,
    now,
    log,
    plotted: timeline,
    isReady: () => mirror.missedSinceMs === null && stream?.isCurrent !== false,
  });
  const unstored = new UnstoredDeliveries({ writer: stream ?? writer, now, log });
  const show = (atMs: number): Promise<void> => watch.state.beat(atMs);
  let socket: number | null = null;
  const beat = (atMs: number, isLast = false): Promise<void> =>
    store.inbox.beat({
      atMs,
      clockMs: now(),
      keptSocket: isLast && unstored.size === 0 ? socket : null,
      missedSinceMs: mirror.missedSinceMs ?? stream?.unsureSinceMs ?? null,
      changeSeq: store.mirror.position.changeSeq,
      stream: stream?.place ?? null,
    });
  const heartbeat = createHeartbeat({ target: { beat, show }, wallNow: Date.now, log });
  const stopping = new AbortController();
  const ports = new Ports(platform.listen);
  const stop = async (graceMs?: number): Promise<void> => {
    stopping.abort();
    await ports.stop(graceMs);
    const tooLong = setTimeout(() => void store.mirror.close(), LAST_COMMANDS_MS);
    await unstored.stop();
    await heartbeat.stop();
    await stream?.stop();
    // These still write to the mirror.
    await sampler.stop();
    watch.stop();
    await timeline.stop();
    await mirror.close();
    clearTimeout(tooLong);
  };

  try {
    const parts = { inbox: store.inbox, unstored, now, heartbeat, log };
    // Listen before reading anything: a change that a read misses must arrive as a delivery.
    const webhook = config.role === 'mirror' ? null : await ports.listenPublicly(config, monitor, parts);
    const { metadata } = store.inbox;
    socket = webhook === null ? null : socketOf(config);
    const sinceMs = missedSince(metadata, socket);
    // With a stream, only a downtime that was noted: the stream shows whether another receiver listened.
    const knownSinceMs = stream === null ? sinceMs : metadata.missedSinceMs;
    if (knownSinceMs !== null) mirror.missed(knownSinceMs);
    if (webhook !== null) stream?.receive(sinceMs);
    stream?.start();
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
    const ops = await ports.listenPrivately(app, config.ops);
    watch.start();
    timeline.start();
    sampler.start();
    clock.onStandstill((silentMs) => {
      watch.stoodStill();
      if (stream === null) mirror.missed(Date.now() - silentMs);
      else stream.stoodStill(Date.now() - silentMs);
    });
    reconciler.start();
    void prunePeriodically(
      {
        inbox: store.inbox,
        mirror: store.mirror,
        doneSeq: () => Math.min(store.mirror.position.inboxSeq, stream?.place.publishedSeq ?? Infinity),
        now,
        log,
        retentionDays,
      },
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
    return { webhook, ops, metrics: monitor.registry, stop: () => stop() };
  } catch (error) {
    // Requests under way are cut.
    socket = null;
    await stop(0);
    throw error;
  }
}
