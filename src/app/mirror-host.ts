/** A process with a mirror, and with a receiver unless another process receives (docs/architecture.md#two-halves). */
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { reportOf } from '../inbox/inbox-view.ts';
import { prunePeriodically } from '../mirror/retention.ts';
import { Monitor } from '../ops/monitor.ts';
import { StateSampler } from '../ops/state/state-sampler.ts';
import { Timeline } from '../ops/state/timeline.ts';
import type { Listener } from '../platform/listen.ts';
import { lockIdOf } from '../sqlite/lock.ts';
import { commandsOf } from '../platform/own-command.ts';
import type { Logger } from '../platform/log.ts';
import type { ReceiverEvents } from '../receiver/receiver.ts';
import { realReceiver, runReceiver, type RunningReceiver } from '../receiver/run-receiver.ts';
import { alertSender } from './alerts.ts';
import { hasCaughtUp, startHeartbeat } from './heartbeat.ts';
import { openMirror, realMirror } from './mirror.ts';
import { listenPrivately } from './ports.ts';
import type { Platform, RunningService } from './platform.ts';
import { receiverSettings, runsReceiver } from './receiver-settings.ts';

const MIRROR_WAIT_MS = 2_000;
/** For what is left at a stop; its commands would wait until the whole backlog is applied. */
const LAST_COMMANDS_MS = 500;
const DRAIN_MS = 1_500;

/** @param onDeath called when no webhook can be stored any more: the process must end. @param given in place of the real ones. */
export async function startMirrorHost(
  config: Config,
  log: Logger,
  onDeath: (error: Error) => void,
  given: Partial<Platform> = {},
): Promise<RunningService> {
  const platform: Platform = { ...realMirror(), ...realReceiver(), receiverThread: null, ...given };
  const monitor = new Monitor({ runsReceiver: runsReceiver(config) });
  // No webhook needs it.
  const loading = import('../ops/app.ts');
  loading.catch(() => undefined);
  // Does nothing until there is a mirror, which reads the inbox when it is opened.
  let arrived = (): void => undefined;
  // The receiver creates the inbox. It listens before anything is read: a change that a read misses must arrive here.
  const events: ReceiverEvents = {
    onCommit: () => arrived(),
    onTrouble: (error) => monitor.troubled(error),
    onDeath,
  };
  const runReceiverHere = (): Promise<RunningReceiver> =>
    runReceiver(receiverSettings(config), { ...events, log }, platform);
  const receiver = runsReceiver(config)
    ? await (platform.receiverThread?.(events) ?? runReceiverHere())
    : null;
  const opened = openMirror({ config, log, platform, monitor });
  const { mirror, inbox, reconciler, now } = opened;
  arrived = () => mirror.arrived();
  const unwatch = receiver === null ? inbox.watch(arrived) : () => undefined;
  const sampler = new StateSampler({ reader: mirror, now, log });
  const timeline = new Timeline({ reader: mirror, writer: mirror, sampler, now, log });
  const alerts = alertSender(config, now, log);
  const watch = monitor.watch({
    mirror,
    sampler,
    hasStream: config.stream !== null,
    operator: reconciler,
    now,
    log,
    plotted: timeline,
    isReady: () => hasCaughtUp(inbox.receiver()),
    observed: alerts?.observe,
  });
  const heartbeat = startHeartbeat({
    inbox,
    followReceiver: opened.followReceiver,
    onReceiver: (row) => {
      const news = monitor.receive(row);
      if (row !== null && news !== null) reconciler.heard(row, news, reportOf(row)?.stream ?? null);
    },
    show: (atMs) => watch.beat(atMs),
    log,
  });
  const stopping = new AbortController();
  let ops: Listener | null = null;
  const stop = async (): Promise<void> => {
    // First, because the private listener waits for its long answers, which end now.
    stopping.abort();
    watch.stop();
    // Before the mirror may be closed: otherwise each read under way would fail. `opened.close` awaits it.
    reconciler.stop().catch(() => undefined);
    // Before the mirror: it still applies what is being received, and answers what was asked.
    await Promise.all([receiver?.stop(), ops?.stop(DRAIN_MS)]);
    // From here on, nothing new arrives, and only this stop writes to the mirror.
    const tooLong = setTimeout(() => void mirror.close(), LAST_COMMANDS_MS);
    unwatch();
    // After the receiver, whose last report the mirror shows from now on.
    await heartbeat.stop();
    // After the heartbeat, which shows the state that they sample. They still write to the mirror.
    await sampler.stop();
    alerts?.stop();
    await timeline.stop();
    await opened.close();
    // Last, because the inbox must be closed after its readers, of which the mirror is one.
    await receiver?.close();
    clearTimeout(tooLong);
  };

  try {
    const { createOpsApp } = await loading;
    const app = createOpsApp({
      ...optionsOfOps(config),
      reader: mirror,
      writer: mirror,
      operator: reconciler,
      metrics: monitor.registry,
      state: sampler,
      watch,
      timeline,
      now,
      log,
      stopping: stopping.signal,
    });
    ops = await listenPrivately(platform.listen, app, config.ops);
    timeline.start();
    sampler.start();
    reconciler.start();
    const { clockAheadMs } = monitor;
    const { retentionDays } = config;
    void prunePeriodically({ mirror, now, clockAheadMs, log, retentionDays }, stopping.signal);
    const isOpen = mirror.tried.then(() => heartbeat.beat()).then(() => true);
    if (!(await Promise.race([isOpen, wait(MIRROR_WAIT_MS, false, { ref: false })]))) {
      log.warn('the mirror is still being opened; deliveries are accepted meanwhile');
    }
    return { webhook: receiver?.webhook ?? null, ops, metrics: monitor.registry, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function optionsOfOps({ ops, database, warehouseNames: namedBySettings, command }: Config) {
  return {
    token: ops.token?.reveal() ?? null,
    readToken: ops.readToken?.reveal() ?? null,
    namedBySettings,
    commandOf: commandsOf(command),
    database: {
      path: database.path,
      // Read when asked: the lock's file is created when the mirror is opened.
      get lockId() {
        return lockIdOf(database.path);
      },
    },
  };
}
