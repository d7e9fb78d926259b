/** This host's part in the stream that several mirrors share (docs/architecture.md#several-machines). */
import { setTimeout as wait } from 'node:timers/promises';
import type { SetAside, StreamReport } from '../inbox/report.ts';
import type { Missed } from '../core/input.ts';
import { missedBody } from '../inbox/missed.ts';
import { createLimitedLog, type Logger } from '../platform/log.ts';
import { messageOf } from '../platform/thrown.ts';
import { Connection } from './connection.ts';
import { Consumer } from './consumer.ts';
import type { Engine } from './engine.ts';
import { readHeartbeat } from './heartbeat.ts';
import { Heartbeats } from './heartbeats.ts';
import { Hosts } from './hosts.ts';
import type { OwnHost } from './own-host.ts';
import { Publisher } from './publisher.ts';
import { Vanished } from './vanished.ts';

interface StreamDeps {
  /** Connects once; rejects when no server is reached. */
  readonly connect: () => Promise<Engine>;
  readonly host: OwnHost;
  /** A mirror on this host needs what other receivers publish. */
  readonly isConsumed: boolean;
  readonly log: Logger;
}

/** The same as for a silence of all hosts (src/stream/hosts.ts). */
const BACKLOG_MS = 7_000;
/**
 * A balancer that asks each second sends nothing more to this host when the others declare that it has vanished, 7 s after its
 * last heartbeat. So the reads that follow include everything that it answered.
 */
const UNFIT_MS = 5_000;
const RETRY_MS = 1_000;
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
  readonly #vanished: Vanished;
  #connection: Connection | null = null;
  readonly #engine = Promise.withResolvers<Engine>();
  #failure: string | null = null;
  #setAside: SetAside | null = null;
  readonly #hosts: Hosts;

  constructor(deps: StreamDeps) {
    const { host, isConsumed, log } = deps;
    this.#deps = deps;
    const warn = createLimitedLog((fields) =>
      log.warn(fields, 'the stream cannot be used; it is tried again'),
    );
    this.#onError = (error) => {
      this.#failure = messageOf(error);
      warn('failures', { err: error });
    };
    this.#hosts = new Hosts(host.now(), isConsumed ? 0 : Infinity);
    const onMissed = (missed: Missed): void => log.warn(missed, 'deliveries may have been missed');
    const engine = this.#engine.promise;
    const shared = { host, engine, onError: this.#onError };
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
    this.#consumer = isConsumed
      ? new Consumer({ ...shared, onMissed, onReached: (...position) => this.#hosts.reached(...position) })
      : null;
    const publishing = {
      ...shared,
      hosts: this.#hosts,
      publisher: this.#publisher,
      publishMissed: async (missed: Missed, signal: AbortSignal): Promise<void> => {
        await host.append([{ kind: 'missed', body: missedBody(missed) }], null);
        onMissed(missed);
        await this.#publisher.untilPublished(host.lastSeq, signal);
      },
    };
    this.#heartbeats = new Heartbeats({ ...publishing, backlogMs: () => this.#backlogMs });
    this.#vanished = new Vanished({ ...publishing, isVouching: () => this.#heartbeats.isVouching });
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
    void this.#findHosts(signal).then(() => {
      void this.#vanished.run(signal);
      if (hasPort) void this.#heartbeats.run(signal);
    });
  }

  /** Something was stored that waits to be published. */
  arrived(): void {
    this.#publisher.arrived();
  }

  /** Every row up to this one is in the stream, or came from it. */
  get publishedSeq(): number {
    return this.#publisher.publishedSeq;
  }

  /** Other hosts get what this one receives, and notice if it vanishes. */
  get isPublishing(): boolean {
    return performance.now() - this.#heartbeats.storedAtMs < UNFIT_MS && this.#backlogMs < UNFIT_MS;
  }

  report(): StreamReport {
    const { host, isConsumed } = this.#deps;
    const nowMs = host.now();
    this.#hosts.look(nowMs);
    const silentSinceMs = this.#hosts.silentSinceMs(nowMs);
    const isMirror = isConsumed && silentSinceMs === null;
    const sinceMs = Math.min(
      nowMs - this.#backlogMs,
      isMirror
        ? Math.min(this.#hosts.sureUntilMs(nowMs), this.#consumer?.unreadSinceMs ?? Infinity)
        : Infinity,
    );
    const hasCaughtUp = this.#consumer === null || (this.#consumer.hasCaughtUp && this.#hosts.haveAllArrived);
    return {
      silentSinceMs,
      failure: this.#failure,
      backlogSinceMs: nowMs - sinceMs >= BACKLOG_MS ? sinceMs : null,
      hasCaughtUp: hasCaughtUp && host.coverage.unsure === null,
      unpublishedRows: Math.max(0, host.lastSeq - this.#publisher.publishedSeq),
      unpublishedSinceMs: this.#publisher.oldestAtMs,
      setAside: this.#setAside,
    };
  }

  /** The public port is about to close. */
  closing(): void {
    this.#heartbeats.close();
  }

  /** Nothing is received any more: publishes the rest, if it takes no longer than a second, and that this host leaves. */
  async stop(): Promise<void> {
    if (this.#connection?.engine !== null && (await this.#publishRest())) await this.#heartbeats.leave();
    this.#stopping.abort();
    await this.#connection?.stop();
  }

  /** This host may not start again. @returns false if rows wait in its inbox. */
  async #publishRest(): Promise<boolean> {
    const { host } = this.#deps;
    // Measured: each pause is longer while commits wait for the disk.
    const untilMs = performance.now() + REST_MS;
    while (this.#publisher.publishedSeq < host.lastSeq) {
      if (performance.now() >= untilMs) return false;
      await wait(POLL_MS, undefined, { ref: false });
    }
    return true;
  }

  get #backlogMs(): number {
    const { oldestAtMs } = this.#publisher;
    if (oldestAtMs === null) return 0;
    const ageMs = this.#deps.host.now() - oldestAtMs;
    // The clock was set back since: the row's age is unknown.
    return ageMs < 0 ? BACKLOG_MS : ageMs;
  }

  /** Finds the hosts that may have published before this one could hear them. */
  async #findHosts(signal: AbortSignal): Promise<void> {
    const engine = await this.#engine.promise;
    while (!signal.aborted) {
      try {
        await engine.prepare();
        const last = await engine.last('heartbeat.*');
        const hostIds = last.filter(({ body }) => !this.#hasLeft(body)).map(({ subject }) => hostOf(subject));
        this.#hosts.expect(hostIds, this.#deps.host.now());
        return;
      } catch (error) {
        if (!signal.aborted) this.#onError(error);
      }
      await wait(RETRY_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
  }

  /** A host whose heartbeat is not understood must not hold up the others. */
  #hasLeft(heartbeat: Uint8Array): boolean {
    try {
      return readHeartbeat(heartbeat).is_gone;
    } catch (error) {
      this.#onError(error);
      return true;
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
      this.#heartbeats.heard(heartbeat);
      this.#failure = null;
    } catch (error) {
      this.#onError(error);
    }
  }
}

const hostOf = (subject: string): string => subject.slice(subject.indexOf('.') + 1);
