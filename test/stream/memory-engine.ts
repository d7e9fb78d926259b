/** Servers of a stream engine in memory, shared by the engines of several hosts. */
import type { Engine, LastMessage, Log, LogMessage, LogSubject } from '../../src/stream/engine.ts';

interface Stored {
  readonly seq: number;
  readonly subject: LogSubject;
  readonly body: Uint8Array;
}

interface Consumer {
  nextSeq: number;
  /** Sent and not acknowledged, oldest first. */
  readonly unacked: Set<Stored>;
  readonly again: Stored[];
  onMessage: ((message: LogMessage) => void) | null;
}

interface MemoryOptions {
  /** The servers' clock. */
  readonly now: () => number;
  /** Resolves after the time that a message takes; rejects when it does not arrive. */
  readonly travel?: () => Promise<void>;
  readonly later?: (action: () => void, ms: number) => void;
}

const ACK_WAIT_MS = 5_000;

export class MemoryServers {
  readonly #options: MemoryOptions;
  readonly #ids = new Set<string>();
  readonly #listeners = new Set<(hostId: string, body: Uint8Array) => void>();
  readonly last = new Map<string, LastMessage>();
  readonly consumers = new Map<string, Consumer>();
  log: Stored[] = [];
  id = 'log-1';
  firstSeq = 1;
  lastSeq = 0;
  #isAway = false;

  constructor(options: MemoryOptions) {
    this.#options = options;
  }

  /** While they are away, no request is answered, and nothing is delivered. */
  set isAway(isAway: boolean) {
    this.#isAway = isAway;
    if (!isAway) for (const consumer of this.consumers.values()) this.#deliver(consumer);
  }

  /** As an operator would delete both streams, which are created again at once. */
  recreate(): void {
    this.id = `log-${Number(this.id.slice(4)) + 1}`;
    this.#ids.clear();
    this.log = [];
    this.last.clear();
    this.consumers.clear();
    [this.firstSeq, this.lastSeq] = [1, 0];
  }

  /** The time in which the same message is stored once has passed. */
  forgetIds(): void {
    this.#ids.clear();
  }

  /** Drops the messages before `seq`, as their age does. */
  expireBefore(seq: number): void {
    this.log = this.log.filter((message) => message.seq >= seq);
    this.firstSeq = Math.max(this.firstSeq, seq);
  }

  /** @param reach rejects while this host cannot reach the servers. */
  connect(reach: () => Promise<void> = () => Promise.resolve()): Engine {
    const arrive = async (): Promise<void> => {
      await reach();
      await this.#options.travel?.();
      if (this.#isAway) throw new Error('the servers are away');
    };
    const whenReached = (action: () => unknown): void => void arrive().then(action, () => undefined);
    const heard = new Set<(hostId: string, body: Uint8Array) => void>();
    let stopConsuming: (() => Promise<unknown>) | null = null;
    return {
      prepare: arrive,
      publish: async (subject, body, options) => {
        await arrive();
        this.#store(subject, body, options?.id);
        await arrive();
      },
      last: async (subject) => {
        await arrive();
        const matches = (name: string): boolean =>
          subject.endsWith('*') ? name.startsWith(subject.slice(0, -1)) : name === subject;
        return [...this.last.values()].filter((message) => matches(message.subject));
      },
      hear: (listener) => {
        const reached = (hostId: string, body: Uint8Array): void =>
          whenReached(() => heard.has(reached) && listener(hostId, body));
        heard.add(reached);
        this.#listeners.add(reached);
      },
      log: async (name): Promise<Log> => {
        await arrive();
        const { id, firstSeq, lastSeq } = this;
        const consumer = this.consumers.get(name);
        if (consumer === undefined) return { id, firstSeq, lastSeq, consumer: null };
        const open = [...consumer.unacked, ...consumer.again].map(({ seq }) => seq);
        return { id, firstSeq, lastSeq, consumer: { ackedSeq: Math.min(consumer.nextSeq, ...open) - 1 } };
      },
      moveConsumer: async (name, fromSeq) => {
        await arrive();
        const nextSeq = Math.min(Math.max(fromSeq, this.firstSeq), this.lastSeq + 1);
        this.consumers.set(name, { nextSeq, unacked: new Set(), again: [], onMessage: null });
      },
      consume: async (name, onMessage) => {
        await arrive();
        const consumer = this.consumers.get(name);
        if (consumer === undefined) throw new Error('consumer not found');
        const reached = (message: LogMessage): void =>
          whenReached(() => consumer.onMessage === reached && onMessage(message));
        consumer.onMessage = reached;
        this.#deliver(consumer);
        stopConsuming = () => {
          if (consumer.onMessage === reached) consumer.onMessage = null;
          return Promise.resolve();
        };
        return stopConsuming;
      },
      close: async () => {
        for (const listener of heard) this.#listeners.delete(listener);
        heard.clear();
        await stopConsuming?.();
      },
    };
  }

  #store(subject: string, body: Uint8Array, id?: string): void {
    if (subject !== 'deliveries' && subject !== 'notices') {
      this.last.set(subject, { subject, body, atMs: this.#options.now() });
      const [kind, hostId = ''] = subject.split('.');
      if (kind === 'heartbeat') for (const listener of this.#listeners) listener(hostId, body);
      return;
    }
    if (id !== undefined && this.#ids.has(id)) return;
    if (id !== undefined) this.#ids.add(id);
    this.lastSeq += 1;
    this.log.push({ seq: this.lastSeq, subject, body });
    for (const consumer of this.consumers.values()) this.#deliver(consumer);
  }

  #deliver(consumer: Consumer): void {
    const { onMessage } = consumer;
    if (onMessage === null || this.#isAway) return;
    const fresh = this.log.filter(({ seq }) => seq >= consumer.nextSeq);
    consumer.nextSeq = this.lastSeq + 1;
    const due = [...consumer.again.splice(0), ...fresh];
    for (const [at, stored] of due.entries()) {
      const { subject, body } = stored;
      consumer.unacked.add(stored);
      const again = (): void => {
        if (!consumer.unacked.delete(stored)) return;
        consumer.again.push(stored);
        this.#deliver(consumer);
      };
      const later = this.#options.later ?? ((action, ms) => void setTimeout(action, ms).unref());
      later(again, ACK_WAIT_MS);
      const ack = (): void => void consumer.unacked.delete(stored);
      onMessage({ subject, body, left: due.length - at - 1, ack });
    }
  }
}
