/** The service's surroundings: real sockets and threads, or those of a simulation. */
import type { Registry } from 'prom-client';
import type { Config } from '../config/config.ts';
import type { createOpsApp } from '../ops/app.ts';
import { listen, type Listener } from '../platform/listen.ts';
import type { Logger } from '../platform/log.ts';
import { runReceiver, type ReceiverEvents, type RunningReceiver } from '../receiver/run-receiver.ts';
import type { Engine } from '../stream/engine.ts';
import type { NatsOptions } from '../stream/nats.ts';
import { realMirror, type MirrorPlatform } from './mirror.ts';
import { connectStream } from './nats.ts';
import { receiverSettings } from './receiver-settings.ts';

export interface Platform extends MirrorPlatform {
  readonly listen: typeof listen;
  readonly connectStream: (options: NatsOptions) => Promise<Engine>;
  /** Loads the private listener's application, which no webhook needs. */
  readonly loadOps: () => Promise<{ readonly createOpsApp: typeof createOpsApp }>;
  /** @throws SqliteFault if the inbox cannot be used, Error if the port cannot. */
  readonly runReceiver: (config: Config, log: Logger, events: ReceiverEvents) => Promise<RunningReceiver>;
}

export function realPlatform(): Platform {
  return {
    ...realMirror(),
    listen,
    connectStream,
    loadOps: () => import('../ops/app.ts'),
    runReceiver: (config, log, events) => runReceiver(receiverSettings(config), { ...events, log }),
  };
}

export interface RunningService {
  /** null if this process receives no webhooks. */
  readonly webhook: RunningReceiver['webhook'];
  readonly ops: Listener;
  /** The content of `GET /metrics`; the process may add its own metrics once. */
  readonly metrics: Registry;
  stop(): Promise<void>;
}
