/** What reads from the store: the client with its token, and the reconciler. */
import type { Config } from '../config/config.ts';
import type { Logger } from '../platform/log.ts';
import type { Store } from '../mirror/store.ts';
import type { Monitor } from '../ops/monitor.ts';
import { Reconciler } from '../reconcile/reconciler.ts';
import type { ServiceConnection, ServiceConnectionOptions } from '../store-api/connect.ts';
import { storeAt } from '../store-api/transport/http.ts';
import type { Clock } from './clock.ts';

interface ReadingDeps {
  readonly config: Pick<Config, 'service' | 'database' | 'schedules'>;
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  readonly platform: {
    readonly connect: (options: ServiceConnectionOptions) => ServiceConnection;
    readonly random: () => number;
  };
  readonly monitor: Monitor | null;
}

interface Reading {
  readonly reconciler: Reconciler;
  stop(): Promise<void>;
}

/** Nothing is read before `reconciler.start()`. */
export function createReading(deps: ReadingDeps): Reading {
  const { config, store, clock, log, platform, monitor } = deps;
  const { client, tokens } = platform.connect({
    baseUrl: config.service.baseUrl,
    clientId: config.service.clientId,
    clientSecret: config.service.clientSecret.reveal(),
    tokenFilePath: `${config.database.path}.token`,
    maxConcurrency: config.service.maxConcurrency,
    onAnswer: monitor?.onAnswer,
    onTokenFileError: (error) =>
      log.warn(
        { err: error },
        'the token file cannot be used: the token is kept in memory; check the permissions and the disk of its folder',
      ),
    now: clock.now,
  });
  const reconciler = new Reconciler({
    store,
    client: monitor?.observe(client) ?? client,
    tokens,
    now: clock.now,
    random: platform.random,
    log,
    maxConcurrency: config.service.maxConcurrency,
    maxRps: config.service.maxRps,
    storeAt: storeAt(config.service.baseUrl),
    schedules: config.schedules,
  });
  return {
    reconciler,
    async stop(): Promise<void> {
      await reconciler.stop();
      await client.close();
    },
  };
}
