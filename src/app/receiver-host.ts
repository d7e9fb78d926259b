/** A process that only receives: the receiver, and a small private listener that shows how it is. It loads no mirror. */
import type { Config } from '../config/config.ts';
import { InboxView } from '../inbox/inbox-view.ts';
import { Monitor } from '../ops/monitor.ts';
import type { Logger } from '../platform/log.ts';
import { commandsOf } from '../platform/own-command.ts';
import { realReceiver, runReceiver, type ReceiverPlatform } from '../receiver/run-receiver.ts';
import { alertSender } from './alerts.ts';
import { listenPrivately } from './ports.ts';
import type { RunningService } from './platform.ts';
import { receiverSettings } from './receiver-settings.ts';

const EVERY_MS = 1_000;
const DRAIN_MS = 1_500;

/** @param onDeath called when no webhook can be stored any more: the process must end. @param given in place of the real ones. */
export async function startReceiverHost(
  config: Config,
  log: Logger,
  onDeath: (error: Error) => void,
  given: Partial<ReceiverPlatform> = {},
): Promise<RunningService> {
  const platform = { ...realReceiver(), ...given };
  const monitor = new Monitor();
  const receiver = await runReceiver(
    receiverSettings(config),
    { log, onCommit: () => undefined, onTrouble: (error) => monitor.troubled(error), onDeath },
    platform,
  );
  const inbox = new InboxView(() => platform.openInboxReader(config.database.path));
  const now = Date.now;
  const alerts = alertSender(config, now, log);
  const watch = monitor.watch({
    mirror: null,
    sampler: null,
    operator: null,
    hasStream: config.stream !== null,
    now,
    log,
    observed: alerts?.observe,
  });
  const takeReport = (): void => void monitor.receive(inbox.receiver());
  takeReport();
  const timer = setInterval(takeReport, EVERY_MS);
  timer.unref();
  const stop = async (): Promise<void> => {
    clearInterval(timer);
    watch.stop();
    alerts?.stop();
    await receiver.stop();
    inbox.close();
    await receiver.close();
  };
  try {
    const { createReceiverApp } = await import('../ops/receiver-app.ts');
    const app = createReceiverApp({
      token: config.ops.token?.reveal() ?? null,
      readToken: config.ops.readToken?.reveal() ?? null,
      metrics: monitor.registry,
      watch,
      commandOf: commandsOf(config.command),
      now,
      log,
    });
    const ops = await listenPrivately(platform.listen, app, config.ops);
    return {
      webhook: receiver.webhook,
      ops,
      metrics: monitor.registry,
      stop: async () => {
        await Promise.all([stop(), ops.stop(DRAIN_MS)]);
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
