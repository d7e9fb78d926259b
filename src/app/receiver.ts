/**
 * Takes webhooks on one of several machines: verifies, syncs to the outbox, answers, then forwards
 * (docs/beyond-one-machine.md#receivers).
 */
import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { encodeEntry } from '../event-log/entries.ts';
import { createIntakeApp } from '../intake/app.ts';
import { createHeartbeat } from '../intake/heartbeat.ts';
import type { IntakeObserver } from '../intake/observer.ts';
import { UnstoredDeliveries } from '../intake/unstored.ts';
import type { Listener } from '../platform/listen.ts';
import type { Logger } from '../platform/log.ts';
import { sleep } from '../platform/sleep.ts';
import { asError } from '../platform/thrown.ts';
import { Forwarder, type Backlog } from '../replication/forwarder.ts';
import { tellOfReceiver } from '../replication/presence.ts';
import type { Engine } from '../replication/transport.ts';
import { createClock } from './clock.ts';
import type { Outbox } from './open-outbox.ts';

interface ReceiverDeps {
  readonly config: Pick<Config, 'service'>;
  readonly outbox: Outbox;
  readonly engine: Engine;
  readonly name: string;
  readonly log: Logger;
  readonly onDeath: (error: Error) => void;
  readonly observer: (now: () => number) => IntakeObserver;
  readonly listen: (app: ReturnType<typeof createIntakeApp>) => Promise<Listener>;
}

export interface Receiver {
  readonly listener: Listener;
  readonly backlog: Backlog;
  /** Stops accepting and drains. */
  stop(graceMs: number): Promise<void>;
}

/** How long a stop waits for what is left to be forwarded; the next start forwards the rest. */
const LAST_FORWARD_MS = 1_000;
const LOOK_EVERY_MS = 20;
/** Well below what the clock calls a standstill. */
const ASK_EVERY_MS = 1_000;

/** @throws Error when the port cannot be listened on. */
export async function startReceiver(deps: ReceiverDeps): Promise<Receiver> {
  const { config, outbox, engine, name, log, onDeath } = deps;
  const clock = createClock(outbox.log.life.aliveAtMs ?? 0);
  const { now } = clock;
  const writer = {
    appendDelivery: (body: Uint8Array, arrivedAtMs: number) => outbox.log.appendDelivery(body, arrivedAtMs),
    get waitingBytes() {
      return outbox.log.waitingBytes;
    },
    append: async (entry: Parameters<typeof encodeEntry>[0]) => ({
      seq: (await outbox.log.appendEntry(encodeEntry(entry))).seq,
      facts: [],
    }),
  };
  const forwarder = new Forwarder({ outbox: outbox.log, reader: outbox.reader, engine, log, now: Date.now });
  outbox.onAppended(() => forwarder.wake());
  const unstored = new UnstoredDeliveries({ writer, now, log });
  // There is no mirror here that could show it.
  const heartbeat = createHeartbeat(
    { beat: (atMs) => outbox.log.beat(atMs), show: () => Promise.resolve() },
    Date.now,
  );
  heartbeat.begin();
  const stopping = new AbortController();
  let life = randomUUID();
  clock.onStandstill(() => (life = randomUUID()));
  // Without webhooks nothing else reads the clock, and the pause would look like a standstill.
  const asking = setInterval(now, ASK_EVERY_MS).unref();
  const intake = createIntakeApp({
    writer,
    unstored,
    secrets: config.service.webhookSecrets.map((secret) => secret.reveal()),
    now,
    heartbeat,
    observer: deps.observer(now),
    log,
  });
  const stopParts = async (): Promise<void> => {
    await unstored.stop();
    await heartbeat.stop();
    clearInterval(asking);
  };
  let listener: Listener;
  try {
    listener = await deps.listen(intake);
  } catch (error) {
    await stopParts();
    await outbox.close();
    throw error;
  }
  const telling = tellOfReceiver(
    engine.presence,
    name,
    () => ({ life, backlog: forwarder.backlog.entries, backlogAgeMs: forwarder.backlog.ageMs }),
    stopping.signal,
  );
  const forwarding = forwarder.run().catch((error: unknown) => {
    onDeath(asError(error));
  });
  return {
    listener,
    get backlog() {
      return forwarder.backlog;
    },
    async stop(graceMs): Promise<void> {
      await listener.stop(graceMs);
      await stopParts();
      const untilMs = performance.now() + LAST_FORWARD_MS;
      while (forwarder.backlog.entries > 0 && performance.now() < untilMs) {
        await sleep(LOOK_EVERY_MS, stopping.signal);
      }
      forwarder.stop();
      stopping.abort();
      await Promise.all([forwarding, telling]);
      await outbox.close();
    },
  };
}
