/** This host's part in the stream that several mirrors share (docs/architecture.md#several-machines). */
import { setTimeout as wait } from 'node:timers/promises';
import type { SetAside, StreamReport } from '../inbox/report.ts';
import type { Missed } from '../inbox/missed.ts';
import { createLimitedLog, type Logger } from '../platform/log.ts';
import { messageOf } from '../platform/thrown.ts';
import { Connection } from './connection.ts';
import { Consumer } from './consumer.ts';
import type { Engine } from './engine.ts';
import { HeardHosts } from './heard-hosts.ts';
import { Heartbeats, readHeartbeat } from './heartbeats.ts';
import { Publisher } from './publisher.ts';
import type { OwnHost } from './own-host.ts';

interface StreamDeps {
  /** Connects once; rejects when no server is reached. */
  readonly connect: () => Promise<Engine>;
  readonly host: OwnHost;
  /** A mirror on this host needs what other receivers publish. */
  readonly isConsumed: boolean;
  readonly log: Logger;
}

/** As long as a silence of all hosts may last (src/stream/heard-hosts.ts). */
const BACKLOG_MS = 7_000;
/** A stop takes at most 5 s in all. */
const REST_MS = 1_000;
const POLL_MS = 20;

export class Stream {
  readonly #deps: StreamDeps;
  readonly #stopping = new AbortController();
  readonly #onError: (error: unknown) => void;
  readonly #publisher: Publisher;
  readonly #consumer: Consumer | null;
  readonly #heartbeats: Heartbeats;
  #connection: Connection | null = null;
  readonly #engine = Promise.withResolvers<Engine>();
  #failure: string | null = null;
  #setAside: SetAside | null = null;
  readonly #hosts: HeardHosts;

  constructor(deps: StreamDeps) {
    const { host, isConsumed, log } = deps;
    this.#deps = deps;
    this.#hosts = new HeardHosts(host.now());
    const warn = createLimitedLog((fields) =>
      log.warn(fields, 'the stream cannot be used; it is tried again'),
    );
    this.#onError = (error) => {
      this.#failure = messageOf(error);
      warn('failures', { err: error });
    };
    const onMissed = (missed: Missed): void => log.warn(missed, 'deliveries may have been missed');
    const shared = { host, engine: this.#engine.promise, onMissed, onError: this.#onError };
    this.#publisher = new Publisher({
      ...shared,
      onSetAside: (setAside, error) => {
        this.#setAside = setAside;
        log.error(
          { err: error, ...setAside },
          'the stream refuses a delivery permanently: other mirrors read its variants instead',
        );
      },
    });
    this.#consumer = isConsumed ? new Consumer(shared) : null;
    this.#heartbeats = new Heartbeats({
      ...shared,
      publisher: this.#publisher,
      backlogMs: () => {
        const { oldestAtMs } = this.#publisher;
        return oldestAtMs === null ? 0 : Math.max(0, host.now() - oldestAtMs);
      },
    });
  }

  /** @param hasPort the public port is open: this host is a receiver. */
  start(hasPort: boolean): void {
    const { signal } = this.#stopping;
    this.#connection = new Connection(this.#deps.connect, this.#onError);
    void this.#connection.made.then((engine) => {
      engine.hear((kind, hostId, body) => this.#hear(kind, hostId, body));
      this.#engine.resolve(engine);
    });
    void this.#publisher.run(signal);
    void this.#consumer?.run(signal);
    if (hasPort) void this.#heartbeats.run(signal);
  }

  /** Something was stored that waits to be published. */
  arrived(): void {
    this.#publisher.arrived();
  }

  /** Every row up to this one is in the stream, or came from it. */
  get publishedSeq(): number {
    return this.#publisher.publishedSeq;
  }

  report(): StreamReport {
    const { host } = this.#deps;
    const nowMs = host.now();
    const waiting = [
      this.#publisher.oldestAtMs,
      this.#consumer?.behindSinceMs ?? null,
      ...this.#hosts.backlogsSinceMs(nowMs),
    ];
    const sinceMs = Math.min(...waiting.filter((atMs) => atMs !== null));
    return {
      silentSinceMs: this.#hosts.silentSinceMs(nowMs),
      failure: this.#failure,
      backlogSinceMs: nowMs - sinceMs >= BACKLOG_MS ? sinceMs : null,
      hasCaughtUp: this.#consumer?.hasCaughtUp !== false && host.coverage.unsure === null,
      unpublishedRows: Math.max(0, host.lastSeq - this.#publisher.publishedSeq),
      unpublishedSinceMs: this.#publisher.oldestAtMs,
      setAside: this.#setAside,
    };
  }

  /** The public port is about to close. */
  closing(): Promise<void> {
    return this.#connection?.engine === null ? Promise.resolve() : this.#heartbeats.close();
  }

  /** Nothing is received any more: publishes the rest, if it takes no longer than a second. */
  async stop(): Promise<void> {
    if (this.#connection?.engine !== null) await this.#publishRest();
    this.#stopping.abort();
    await this.#connection?.stop();
  }

  /** This host may not start again. Rows that are not published in time wait in its inbox. */
  async #publishRest(): Promise<void> {
    const { host } = this.#deps;
    // Measured: each pause is longer while commits wait for the disk.
    const untilMs = performance.now() + REST_MS;
    while (this.#publisher.publishedSeq < host.lastSeq && performance.now() < untilMs) {
      await wait(POLL_MS, undefined, { ref: false });
    }
  }

  #hear(kind: 'heartbeat' | 'start', hostId: string, body: Uint8Array): void {
    try {
      if (kind === 'start') {
        this.#heartbeats.started(hostId, body);
        return;
      }
      const heartbeat = readHeartbeat(body);
      this.#hosts.heard(hostId, heartbeat, this.#deps.host.now());
      this.#consumer?.published(hostId, heartbeat.stream_seq);
      this.#failure = null;
    } catch (error) {
      this.#onError(error);
    }
  }
}
