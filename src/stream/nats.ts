/** NATS JetStream as the engine. Its packages are optional: they are loaded only here, when STREAM_URL is set. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConsumerMessages, StreamInfo } from '@nats-io/jetstream';
import type { Secret } from '../platform/secret.ts';
import { TooLargeError, type Engine, type LogMessage, type LogSubject } from './engine.ts';

export interface NatsOptions {
  readonly servers: readonly string[];
  /** Begins the names of streams and subjects. */
  readonly name: string;
  readonly user: string | null;
  readonly password: Secret | null;
  readonly caFile: string | null;
}

/** After two pings without an answer, the server hangs or is cut off, and the client connects to another. */
const PING_MS = 2_000;
const REQUEST_MS = 3_000;
/** Room for the headers of a message in `max_payload`. */
const HEADER_BYTES = 512;
const HOST_HEADER = 'Host-Id';
const RECONNECT_MS = 500;
/** A pull lasts this long at most. Two of the server's heartbeats missed, each after half of it, end a reading. */
const PULL_MS = 3_000;
/**
 * Messages that the server sends ahead, of 1 MB each at most. A limit of bytes would be refilled by what was taken,
 * and the server refuses a pull into which its next message does not fit: that would end the reading.
 */
const PULL_MESSAGES = 64;
/** The server deletes a consumer that has not pulled for this time. */
const FORGOTTEN_AFTER_MS = 30_000;
const DAY_MS = 24 * 60 * 60_000;
/** How long a mirror may be away. */
export const KEPT_MS = 7 * DAY_MS;
export const REPLICAS = 3;
/** The key in the stream's metadata: the server's `created` differs between servers in rare cases. */
const ID_KEY = 'stock-mirror-id';
/** Codes of JetStream's errors. */
const MESSAGE_TOO_LARGE = 10_054;
const NAME_IN_USE = 10_058;
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
  const { streams } = await js.jetstreamManager(false);
  const lastName = `${name}-last`;
  /** Functions that end the readings under way. */
  const readings = new Set<() => void>();
  void (async () => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') for (const end of readings) end();
    }
  })();

  const codeOf = (error: unknown): number | null =>
    error instanceof nats.JetStreamApiError ? error.code : null;
  const infoOf = async (stream: string): Promise<StreamInfo | null> => {
    try {
      return await streams.info(stream);
    } catch (error) {
      if (codeOf(error) === STREAM_NOT_FOUND) return null;
      throw error;
    }
  };
  const create = async (config: Parameters<typeof streams.add>[0]): Promise<void> => {
    if ((await infoOf(config.name)) !== null) return;
    const onDisk = {
      ...config,
      storage: nats.StorageType.File,
      metadata: { [ID_KEY]: randomBytes(8).toString('hex') },
    };
    // A cluster that cannot hold three replicas now is asked again.
    for (const num_replicas of [REPLICAS, 1]) {
      try {
        await streams.add({ ...onDisk, num_replicas });
        return;
      } catch (error) {
        // Another host has just created it, with another id.
        if (codeOf(error) === NAME_IN_USE) return;
        if (codeOf(error) !== NO_CLUSTER_FOR_REPLICAS || num_replicas === 1) throw error;
      }
    }
  };

  return {
    prepare: async () => {
      const subjects = [`${name}.deliveries`, `${name}.tests`, `${name}.missed`];
      await create({ name, subjects, max_age: nats.nanos(KEPT_MS) });
      const kinds = ['heartbeat', 'start'];
      await create({
        name: lastName,
        subjects: kinds.map((kind) => `${name}.${kind}.*`),
        max_msgs_per_subject: 1,
        max_age: nats.nanos(KEPT_MS),
      });
    },
    publish: async (subject, body, { id, hostId, arrivedAtMs } = {}) => {
      const limit = connection.info?.max_payload ?? Infinity;
      if (body.byteLength + HEADER_BYTES > limit) throw new TooLargeError(tooLarge(body, limit));
      const headers = nats.headers();
      if (hostId !== undefined) headers.set(HOST_HEADER, hostId);
      if (arrivedAtMs !== undefined) headers.set('Arrived-At', new Date(arrivedAtMs).toISOString());
      const options = id === undefined ? { headers } : { headers, msgID: id };
      const ack = await js.publish(`${name}.${subject}`, body, options).catch((error: unknown) => {
        if (codeOf(error) === MESSAGE_TOO_LARGE)
          throw new TooLargeError(tooLarge(body, null), { cause: error });
        throw error;
      });
      // A repeated message whose original is proposed but has no quorum yet. A change of leader may still drop it.
      if (ack.seq === 0) throw new Error('the servers have not stored the message yet');
      return ack.seq;
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
        }));
    },
    hear: (listener) => {
      for (const kind of ['heartbeat', 'start'] as const) {
        const prefix = `${name}.${kind}.`;
        connection.subscribe(`${prefix}*`, {
          callback: (error, message) => {
            if (error === null) listener(kind, message.subject.slice(prefix.length), message.data);
          },
        });
      }
    },
    log: async () => {
      const { config, state } = await streams.info(name);
      const id = config.metadata?.[ID_KEY];
      if (id === undefined) {
        throw new Error(`the stream ${name} was not created by stock-mirror: delete it, or set STREAM_NAME`);
      }
      return {
        id,
        firstSeq: state.messages === 0 ? state.last_seq + 1 : state.first_seq,
        lastSeq: state.last_seq,
      };
    },
    read: async function* (fromSeq, signal): AsyncGenerator<LogMessage> {
      const consumer = await js.consumers.get(name, {
        deliver_policy: nats.DeliverPolicy.StartSequence,
        opt_start_seq: fromSeq,
        inactive_threshold: nats.nanos(FORGOTTEN_AFTER_MS),
      });
      const messages = await consumer.consume({ max_messages: PULL_MESSAGES, expires: PULL_MS });
      const close = (): void => void messages.close();
      if (signal.aborted) close();
      signal.addEventListener('abort', close);
      readings.add(close);
      void closeInTrouble(messages);
      try {
        for await (const { seq, subject, data, headers } of messages) {
          yield {
            seq,
            subject: subject.slice(name.length + 1) as LogSubject,
            body: data,
            hostId: headers?.get(HOST_HEADER) || null,
          };
        }
      } finally {
        signal.removeEventListener('abort', close);
        readings.delete(close);
        await messages.close();
      }
    },
    facts: async () => ({
      serverVersion: connection.info?.version ?? '',
      maxPayloadBytes: connection.info?.max_payload ?? 0,
      log: await infoOf(name),
      last: await infoOf(lastName),
    }),
    close: () => connection.close(),
  };
}

/** Notifications of a consumer that still works. */
const USUAL: ReadonlySet<string> = new Set(['next', 'heartbeat', 'debug', 'discard']);

/** The library would wait for a consumer on a dead server; another one can be created at once. */
async function closeInTrouble(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) if (!USUAL.has(type)) await messages.close();
}

const tooLarge = (body: Uint8Array, limit: number | null): string =>
  `the servers refuse a message of ${body.byteLength} bytes${limit === null ? '' : `: their max_payload is ${limit}`}`;
