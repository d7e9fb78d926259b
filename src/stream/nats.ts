/** NATS JetStream as the engine. Its packages are optional: they are loaded only here, when STREAM_URL is set. */
import { readFileSync } from 'node:fs';
import type { StreamInfo } from '@nats-io/jetstream';
import type { Secret } from '../platform/secret.ts';
import type { Engine, LogSubject } from './engine.ts';

export interface NatsOptions {
  readonly servers: readonly string[];
  /** Begins the names of streams and subjects. */
  readonly name: string;
  readonly user: string | null;
  readonly password: Secret | null;
  readonly caFile: string | null;
}

/** A server that hangs, or is cut off, is left after two pings without an answer. */
const PING_MS = 2_000;
const REQUEST_MS = 3_000;
const RECONNECT_MS = 500;
/** A pull lasts this long at most; silence for half of it means that the pull was lost. */
const PULL_MS = 5_000;
const MESSAGES_AT_ONCE = 500;
/** An unacknowledged message is delivered again after this time. */
const ACK_WAIT_MS = 5_000;
const DAY_MS = 24 * 60 * 60_000;
/** How long a mirror may be away. */
export const KEPT_MS = 7 * DAY_MS;
export const REPLICAS = 3;
/** Codes of JetStream's errors. */
const CONSUMER_NOT_FOUND = 10_014;
const STREAM_NOT_FOUND = 10_059;
const NO_CLUSTER_FOR_REPLICAS = 10_074;

/** @throws Error `ERR_MODULE_NOT_FOUND` where the packages are not installed. */
export async function loadNats() {
  const transport = await import('@nats-io/transport-node');
  return { ...transport, ...(await import('@nats-io/jetstream')) };
}

export interface NatsFacts {
  readonly serverVersion: string;
  readonly maxPayloadBytes: number;
  readonly log: StreamInfo | null;
  readonly last: StreamInfo | null;
}

/** Connects at once or not at all; a connection that breaks later is made again. @throws Error */
export async function connectNats(
  nats: Awaited<ReturnType<typeof loadNats>>,
  { servers, name, user, password, caFile }: NatsOptions,
): Promise<Engine & { facts(): Promise<NatsFacts> }> {
  const isEncrypted = caFile !== null || servers.some((server) => server.startsWith('tls:'));
  const connection = await nats.connect({
    servers: [...servers],
    name: 'stock-mirror',
    timeout: REQUEST_MS,
    pingInterval: PING_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    // An operator may correct user or password while this runs.
    ignoreAuthErrorAbort: true,
    ...(user === null ? {} : { user, pass: password?.reveal() ?? '' }),
    // Without this, the client would use no TLS with a server that offers none.
    ...(isEncrypted ? { tls: caFile === null ? {} : { ca: readFileSync(caFile, 'utf8') } } : {}),
  });
  const js = nats.jetstream(connection, { timeout: REQUEST_MS });
  const { streams, consumers } = await js.jetstreamManager(false);
  const lastName = `${name}-last`;

  const codeOf = (error: unknown): number | null =>
    error instanceof nats.JetStreamApiError ? error.code : null;
  const orNull = <T>(found: Promise<T>): Promise<T | null> =>
    found.catch((error: unknown) => {
      const code = codeOf(error);
      if (code === STREAM_NOT_FOUND || code === CONSUMER_NOT_FOUND) return null;
      throw error;
    });
  const create = async (config: Parameters<typeof streams.add>[0]): Promise<void> => {
    if ((await orNull(streams.info(config.name))) !== null) return;
    const onDisk = { ...config, storage: nats.StorageType.File };
    try {
      await streams.add({ ...onDisk, num_replicas: REPLICAS });
    } catch (error) {
      // A cluster that cannot hold three replicas now is asked again.
      if (codeOf(error) !== NO_CLUSTER_FOR_REPLICAS) throw error;
      await streams.add({ ...onDisk, num_replicas: 1 });
    }
  };

  return {
    prepare: async () => {
      const subjects = [`${name}.deliveries`, `${name}.notices`];
      await create({ name, subjects, max_age: nats.nanos(KEPT_MS) });
      const kinds = ['heartbeat', 'start', 'credentials'];
      await create({
        name: lastName,
        subjects: kinds.map((kind) => `${name}.${kind}.*`),
        max_msgs_per_subject: 1,
      });
    },
    publish: async (subject, body, { id, arrivedAtMs } = {}) => {
      const headers = nats.headers();
      if (arrivedAtMs !== undefined) headers.set('Arrived-At', new Date(arrivedAtMs).toISOString());
      const options = id === undefined ? { headers } : { headers, msgID: id };
      const ack = await js.publish(`${name}.${subject}`, body, options);
      // A repeated message whose original is proposed but has no quorum yet. A change of leader may still drop it.
      if (ack.seq === 0) throw new Error('the servers have not stored the message yet');
    },
    last: async (subject) => {
      const { state } = await streams.info(lastName, { subjects_filter: `${name}.${subject}` });
      const found = Object.keys(state.subjects ?? {}).map((each) =>
        streams.getMessage(lastName, { last_by_subj: each }),
      );
      return (await Promise.all(found))
        .filter((message) => message !== null)
        .map((message) => ({
          subject: message.subject.slice(name.length + 1),
          body: message.data,
          atMs: message.time.getTime(),
        }));
    },
    hear: (listener) => {
      const prefix = `${name}.heartbeat.`;
      connection.subscribe(`${prefix}*`, {
        callback: (error, message) => {
          if (error === null) listener(message.subject.slice(prefix.length), message.data);
        },
      });
    },
    log: async (consumer) => {
      const { created, state } = await streams.info(name);
      const place = await orNull(consumers.info(name, consumer));
      return {
        id: created,
        firstSeq: state.messages === 0 ? state.last_seq + 1 : state.first_seq,
        lastSeq: state.last_seq,
        consumer: place === null ? null : { ackedSeq: place.ack_floor.stream_seq },
      };
    },
    moveConsumer: async (consumer, fromSeq) => {
      await orNull(consumers.delete(name, consumer));
      await consumers.add(name, {
        durable_name: consumer,
        ack_policy: nats.AckPolicy.Explicit,
        ack_wait: nats.nanos(ACK_WAIT_MS),
        deliver_policy: nats.DeliverPolicy.StartSequence,
        opt_start_seq: fromSeq,
      });
    },
    consume: async (consumer, onMessage) => {
      const messages = await (
        await js.consumers.get(name, consumer)
      ).consume({
        max_messages: MESSAGES_AT_ONCE,
        expires: PULL_MS,
        callback: (message) =>
          onMessage({
            subject: message.subject.slice(name.length + 1) as LogSubject,
            body: message.data,
            left: message.info.pending,
            ack: () => message.ack(),
          }),
      });
      return () => messages.close();
    },
    facts: async () => ({
      serverVersion: connection.info?.version ?? '',
      maxPayloadBytes: connection.info?.max_payload ?? 0,
      log: await orNull(streams.info(name)),
      last: await orNull(streams.info(lastName)),
    }),
    close: () => connection.close(),
  };
}
