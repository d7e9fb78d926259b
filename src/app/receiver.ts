/** A host that only receives: an inbox that is published to the stream, and no mirror. */
import type { Config } from '../config/config.ts';
import { InboxClient } from '../inbox/inbox-client.ts';
import { createHeartbeat } from '../intake/heartbeat.ts';
import { UnstoredDeliveries } from '../intake/unstored.ts';
import { prunePeriodically } from '../mirror/retention.ts';
import { Monitor } from '../ops/monitor.ts';
import type { Logger } from '../platform/log.ts';
import { Stream } from '../stream/stream.ts';
import { createClock } from './clock.ts';
import { missedSince, socketOf } from './downtime.ts';
import { Ports } from './ports.ts';
import type { Platform, RunningService } from './service.ts';

export async function startReceiver(
  config: Config & { readonly stream: NonNullable<Config['stream']> },
  log: Logger,
  onDeath: (error: Error) => void,
  platform: Platform,
): Promise<RunningService> {
  const monitor = new Monitor();
  let stream: Stream | null = null;
  const inbox = await InboxClient.open(platform.threads(config.database.path).inbox(), {
    onDeath,
    onCommit: (commit) => {
      monitor.onCommit(commit);
      stream?.arrived();
    },
  });
  const { metadata } = inbox;
  const clock = createClock(Math.max(metadata.aliveAtMs ?? 0, metadata.clockMs ?? 0));
  const { now } = clock;
  const joined = new Stream({
    connect: () => platform.connectStream(config.stream),
    ...{ inbox, mirror: null, now, log },
  });
  stream = joined;
  const watch = monitor.watch({
    store: { inbox, reader: null, writer: null },
    ...{ sampler: null, operator: null, stream, now, log },
  });
  const unstored = new UnstoredDeliveries({ writer: stream, now, log });
  let socket: number | null = null;
  const heartbeat = createHeartbeat({
    target: {
      beat: (atMs, isLast) =>
        inbox.beat({
          atMs,
          clockMs: now(),
          keptSocket: isLast && unstored.size === 0 ? socket : null,
          missedSinceMs: joined.unsureSinceMs,
          changeSeq: 0,
          stream: joined.place,
        }),
      show: () => Promise.resolve(),
    },
    wallNow: Date.now,
    log,
  });
  const stopping = new AbortController();
  const ports = new Ports(platform.listen);
  const stop = async (graceMs?: number): Promise<void> => {
    stopping.abort();
    await ports.stop(graceMs);
    await unstored.stop();
    await heartbeat.stop();
    await joined.stop();
    watch.stop();
    await inbox.close();
  };

  try {
    const parts = { inbox, unstored, now, heartbeat, log };
    const webhook = await ports.listenPublicly(config, monitor, parts);
    socket = socketOf(config);
    stream.receive(missedSince(metadata, socket));
    stream.start();
    heartbeat.begin();
    const { createReceiverApp } = await import('../ops/receiver-app.ts');
    const app = createReceiverApp({
      token: config.ops.token?.reveal() ?? null,
      readToken: config.ops.readToken?.reveal() ?? null,
      metrics: monitor.registry,
      ...{ watch: watch.state, now, log },
    });
    const ops = await ports.listenPrivately(app, config.ops);
    watch.start();
    clock.onStandstill((silentMs) => {
      watch.stoodStill();
      joined.stoodStill(Date.now() - silentMs);
    });
    const { retentionDays } = config;
    const doneSeq = (): number => joined.place.publishedSeq;
    void prunePeriodically({ inbox, mirror: null, doneSeq, now, log, retentionDays }, stopping.signal);
    await heartbeat.check();
    return { webhook, ops, metrics: monitor.registry, stop: () => stop() };
  } catch (error) {
    // Requests under way are cut.
    socket = null;
    await stop(0);
    throw error;
  }
}
