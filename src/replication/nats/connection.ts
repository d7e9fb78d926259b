/**
 * The connection to the engine's servers, re-established for as long as the process runs. Users of it wait up to three
 * seconds for it, and then get an error with the reason.
 */
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node';
import { orAborted } from '../../platform/or-aborted.ts';
import { rest } from '../../platform/sleep.ts';
import { TransportError } from '../transport.ts';
import type { Client } from './client.ts';
import { reasonOf } from './failure.ts';
import type { EngineDeps, EngineOptions } from './options.ts';

/** What is up at present. */
export interface Live {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  /** Another one after each time that the connection was interrupted. */
  readonly life: number;
}

const WAIT_MS = 3_000;
const RETRY_MS = 500;
const CONNECT_WITHIN_MS = 3_000;
/** JetStream's API. */
const ANSWER_WITHIN_MS = 3_000;
const PING_EVERY_MS = 2_000;

export class Connection {
  readonly name: string;
  readonly #client: Client;
  readonly #options: NodeConnectionOptions;
  readonly #log: EngineDeps['log'];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #live: Live | null = null;
  #lives = 0;
  #trouble = 'it has not answered yet';
  /** Who waits for it to be up. */
  readonly #waiting = new Set<() => void>();

  constructor(client: Client, options: EngineOptions, deps: EngineDeps) {
    this.name = options.urls.join(',');
    this.#client = client;
    this.#options = connectionOptions(options, deps.name);
    this.#log = deps.log;
    this.#running = this.#run();
  }

  /** @throws TransportError when it is not up within three seconds. */
  async use(): Promise<Live> {
    if (this.#live !== null) return this.#live;
    if (!this.#stop.signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(late);
          this.#waiting.delete(done);
          resolve();
        };
        // It keeps a command alive that waits for nothing else.
        const late = setTimeout(done, WAIT_MS);
        this.#waiting.add(done);
      });
    }
    if (this.#live !== null) return this.#live;
    throw new TransportError(`the engine at ${this.name} cannot be reached: ${this.#trouble}`);
  }

  /** Whether it has not been interrupted since. */
  isUp({ life }: Live): boolean {
    return this.#live?.life === life;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#trouble = 'it was closed here';
    this.#down();
    for (const done of this.#waiting) done();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { transport } = this.#client;
    while (!signal.aborted) {
      try {
        const nc = await this.#unlessStopped(transport.connect(this.#options));
        if (nc === undefined) return;
        const close = (): void => void nc.close().catch(() => undefined);
        signal.addEventListener('abort', close, { once: true });
        if (signal.aborted) close();
        else this.#up(nc);
        await this.#watch(nc);
        signal.removeEventListener('abort', close);
        const why = await nc.closed();
        if (why instanceof Error) this.#noteTrouble(why);
      } catch (error) {
        this.#noteTrouble(error);
      }
      this.#down();
      await rest(RETRY_MS, signal);
    }
  }

  /** An attempt takes seconds, for each server, and cannot be ended. */
  async #unlessStopped(connecting: Promise<NatsConnection>): Promise<NatsConnection | undefined> {
    const nc = await orAborted(connecting, this.#stop.signal);
    if (nc === undefined) {
      connecting.then(
        (late) => late.close(),
        () => undefined,
      );
    }
    return nc;
  }

  /** Until it is closed for good. */
  async #watch(nc: NatsConnection): Promise<void> {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect' || status.type === 'staleConnection') this.#down();
      else if (status.type === 'reconnect') this.#up(nc);
      else if (status.type === 'error') this.#noteTrouble(status.error);
    }
  }

  #up(nc: NatsConnection): void {
    const { jetstream, jetstreamManager } = this.#client.jetstream;
    const js = jetstream(nc, { timeout: ANSWER_WITHIN_MS });
    this.#lives += 1;
    const life = this.#lives;
    void jetstreamManager(nc, { timeout: ANSWER_WITHIN_MS, checkAPI: false })
      .then((jsm) => {
        if (this.#lives !== life || this.#stop.signal.aborted) return;
        this.#live = { nc, js, jsm, life };
        this.#log.debug({ server: nc.getServer() }, 'connected to the engine');
        for (const done of this.#waiting) done();
      })
      .catch((error: unknown) => {
        this.#noteTrouble(error);
      });
  }

  #down(): void {
    this.#lives += 1;
    this.#live = null;
  }

  #noteTrouble(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#trouble = reasonOf(error);
    this.#log.debug({ err: error }, 'the connection to the engine has trouble');
  }
}

function connectionOptions(options: EngineOptions, name: string): NodeConnectionOptions {
  const { urls, user, password, token, caFile } = options;
  const isEncrypted = caFile !== null || urls.some((url) => url.startsWith('tls:'));
  return {
    servers: [...urls],
    name,
    ...(user === null ? {} : { user }),
    ...(password === null ? {} : { pass: password }),
    ...(token === null ? {} : { token }),
    ...(isEncrypted ? { tls: caFile === null ? {} : { caFile } } : {}),
    timeout: CONNECT_WITHIN_MS,
    pingInterval: PING_EVERY_MS,
    maxPingOut: 2,
    reconnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRY_MS,
    reconnectJitter: 100,
    reconnectJitterTLS: 100,
    noAsyncTraces: true,
  };
}
