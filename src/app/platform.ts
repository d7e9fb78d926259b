/** The service's surroundings: real sockets and threads, or those of a simulation. */
import type { Registry } from 'prom-client';
import type { Listener } from '../platform/listen.ts';
import type { ReceiverEvents } from '../receiver/receiver.ts';
import type { ReceiverPlatform, RunningReceiver } from '../receiver/run-receiver.ts';
import type { MirrorPlatform } from './mirror.ts';

export interface Platform extends MirrorPlatform, ReceiverPlatform {
  /** Takes over from a receiver that was started in a separate thread; null: it runs in this thread. */
  readonly receiverThread: ((events: ReceiverEvents) => Promise<RunningReceiver>) | null;
}

export interface RunningService {
  /** null if this process receives no webhooks. */
  readonly webhook: RunningReceiver['webhook'];
  readonly ops: Listener;
  /** The content of `GET /metrics`; the process may add its own metrics once. */
  readonly metrics: Registry;
  stop(): Promise<void>;
}
