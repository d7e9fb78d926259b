/** Servers of a stream engine in memory, shared by the engines of several hosts. */
import {
  TooLargeError,
  type Engine,
  type LastMessage,
  type LogMessage,
  type LogSubject,
  type PublishOptions,
} from '../../src/stream/engine.ts';

interface Stored {
  readonly seq: number;
  readonly subject: LogSubject;
  readonly body: Uint8Array;
  readonly hostId: string | null;
}

interface MemoryOptions {
  /** Resolves after the time that a message takes; rejects when it does not arrive. */
  readonly travel?: () => Promise<void>;
}

type Heard = (kind: 'heartbeat' | 'start', hostId: string, body: Uint8Array) => void;

export class MemoryServers {
  readonly #options: MemoryOptions;
  /** Numbers of the messages by their ids. */
  readonly #ids = new Map<string, number>();
  readonly #listeners = new Set<Heard>();
  #changed = Promise.withResolvers<void>();
  readonly last = new Map<string, LastMessage>();
  /** Hosts that have read the log. */
  readonly readers = new Set<unknown>();
  log: Stored[] = [];
  id = 'log-1';
  firstSeq = 1;
  lastSeq = 0;
  maxBytes = Infinity;
  #isAway = false;

  constructor(options: MemoryOptions = {}) {
    this.#options = options;
  }

  /** While they are away, no request is answered, and nothing is delivered. */
  set isAway(isAway: boolean) {
    this.#isAway = isAway;
    this.#change();
  }

  /** As an operator would delete both streams, which are created again at once. */
  recreate(): void {
    this.id = `log-${Number(this.id.slice(4)) + 1}`;
    this.#ids.clear();
    this.log = [];
    this.last.clear();
    [this.firstSeq, this.lastSeq] = [1, 0];
    this.#change();
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
  connect(reach: () => Promise<void> = () => Promise.resolve(), host: unknown = {}): Engine {
    const arrive = async (): Promise<void> => {
      await reach();
      await this.#options.travel?.();
      if (this.#isAway) throw new Error('the servers are away');
    };
    const whenReached = (action: () => unknown): void => void arrive().then(action, () => undefined);
    const heard = new Set<Heard>();
    const closing = new AbortController();
    return {
      prepare: arrive,
      publish: async (subject, body, options = {}) => {
        await arrive();
        const seq = this.#store(subject, body, options);
        await arrive();
        return seq;
      },
      last: async (subject) => {
        await arrive();
        const matches = (name: string): boolean =>
          subject.endsWith('*') ? name.startsWith(subject.slice(0, -1)) : name === subject;
        return [...this.last.values()].filter((message) => matches(message.subject));
      },
      hear: (listener) => {
        const reached: Heard = (...message) => whenReached(() => heard.has(reached) && listener(...message));
        heard.add(reached);
        this.#listeners.add(reached);
      },
      log: async () => {
        await arrive();
        const { id, firstSeq, lastSeq } = this;
        return { id, firstSeq, lastSeq };
      },
      read: (fromSeq, signal) => {
        this.readers.add(host);
        return this.#read(fromSeq, arrive, AbortSignal.any([signal, closing.signal]));
      },
      close: () => {
        for (const listener of heard) this.#listeners.delete(listener);
        heard.clear();
        closing.abort();
        return Promise.resolve();
      },
    };
  }

  #store(subject: string, body: Uint8Array, { id, hostId }: PublishOptions): number {
    if (body.byteLength > this.maxBytes) throw new TooLargeError('too large');
    if (subject !== 'deliveries' && subject !== 'tests' && subject !== 'missed') {
      this.last.set(subject, { subject, body });
      const [kind, host = ''] = subject.split('.');
      if (kind === 'heartbeat' || kind === 'start') {
        for (const listener of this.#listeners) listener(kind, host, body);
      }
      return 0;
    }
    const found = id === undefined ? undefined : this.#ids.get(id);
    if (found !== undefined) return found;
    this.lastSeq += 1;
    if (id !== undefined) this.#ids.set(id, this.lastSeq);
    this.log.push({ seq: this.lastSeq, subject, body, hostId: hostId ?? null });
    this.#change();
    return this.lastSeq;
  }

  async *#read(
    fromSeq: number,
    arrive: () => Promise<void>,
    signal: AbortSignal,
  ): AsyncGenerator<LogMessage> {
    const { id } = this;
    let nextSeq = fromSeq;
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => aborted.resolve());
    await arrive();
    while (!signal.aborted && id === this.id) {
      const message = this.#isAway ? undefined : this.log.find(({ seq }) => seq >= nextSeq);
      if (message === undefined) {
        await Promise.race([this.#changed.promise, aborted.promise]);
        continue;
      }
      await arrive();
      if (signal.aborted) return;
      nextSeq = message.seq + 1;
      yield message;
    }
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
