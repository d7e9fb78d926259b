/** This host's part in the stream that several mirrors share (docs/architecture.md#several-machines). */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { StreamPlace } from '../inbox/inbox-file.ts';
import type { StreamReport } from '../inbox/report.ts';
import { createLimitedLog, type Logger } from '../platform/log.ts';
import { messageOf } from '../platform/thrown.ts';
import { Consumer } from './consumer.ts';
import type { Engine } from './engine.ts';
import { Publisher } from './publisher.ts';
import { Receiver } from './receiver.ts';
import type { StreamCoverage, StreamInbox } from './stream-inbox.ts';

interface StreamDeps {
  /** Connects once; rejects when no server is reached. */
  readonly connect: () => Promise<Engine>;
  readonly inbox: StreamInbox;
  /** A mirror on this host needs what other receivers publish. */
  readonly isConsumed: boolean;
  readonly coverage: StreamCoverage;
  /** Notices a standstill of the process. */
  readonly look: () => void;
  readonly now: () => number;
  readonly log: Logger;
}

const RECONNECT_MS = 2_000;
const SILENT_MS = 10_000;
const BACKLOG_MS = 10_000;

const heartbeatSchema = z.object({ backlog_ms: z.number() });

export class Stream {
  readonly #deps: StreamDeps;
  readonly #stopping = new AbortController();
  readonly #publisher: Publisher;
  readonly #consumer: Consumer | null;
  readonly #onError: (error: unknown) => void;
  readonly #connecting = Promise.withResolvers<Engine>();
  #receiver: Receiver | null = null;
  engine: Engine | null = null;
  #failure: string | null = null;
  #heardAtMs: number;
  readonly #heard = new Map<string, { readonly atMs: number; readonly backlogMs: number }>();

  constructor(deps: StreamDeps) {
    const { inbox, isConsumed, coverage, now, log } = deps;
    this.#deps = deps;
    this.#heardAtMs = now();
    const warn = createLimitedLog((fields) =>
      log.warn(fields, 'the stream cannot be used; it is tried again'),
    );
    this.#onError = (error) => {
      this.#failure = messageOf(error);
      warn('failures', { err: error });
    };
    const shared = { inbox, now, engine: this.#connecting.promise, onError: this.#onError };
    this.#publisher = new Publisher(shared);
    this.#consumer = isConsumed
      ? new Consumer({ ...shared, onLost: () => coverage.streamGap(null, Date.now()) })
      : null;
  }

  start(): void {
    void this.#connect();
    for (const part of [this.#publisher, this.#consumer, this.#receiver])
      void part?.run(this.#stopping.signal);
  }

  async #connect(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        const engine = await this.#deps.connect();
        if (this.#stopping.signal.aborted) {
          await engine.close();
          return;
        }
        this.engine = engine;
        engine.hear((hostId, body) => this.#hear(hostId, body));
        this.#connecting.resolve(engine);
        return;
      } catch (error) {
        this.#onError(error);
        await wait(RECONNECT_MS, undefined, { ref: false });
      }
    }
  }

  arrived(): void {
    this.#publisher.arrived();
  }

  get place(): StreamPlace {
    const { streamId, streamSeq } = this.#consumer?.place ?? this.#deps.inbox.metadata;
    return { publishedSeq: this.#publisher.publishedSeq, streamId, streamSeq };
  }

  report(): StreamReport {
    const nowMs = this.#deps.now();
    const waiting = [this.#publisher.oldestAtMs, this.#consumer?.behindSinceMs ?? null];
    for (const { atMs, backlogMs } of this.#heard.values()) {
      if (nowMs - atMs < SILENT_MS && backlogMs > 0) waiting.push(atMs - backlogMs);
    }
    const sinceMs = Math.min(...waiting.filter((atMs) => atMs !== null));
    return {
      silentSinceMs: nowMs - this.#heardAtMs >= SILENT_MS ? this.#heardAtMs : null,
      failure: this.#failure,
      backlogSinceMs: nowMs - sinceMs >= BACKLOG_MS ? sinceMs : null,
      hasCaughtUp: this.#consumer?.hasCaughtUp !== false,
      unpublishedRows: Math.max(0, this.#deps.inbox.lastSeq - this.#publisher.publishedSeq),
      unpublishedSinceMs: this.#publisher.oldestAtMs,
    };
  }

  /** Call it once the public port is open, before the start. */
  receive(): void {
    const { inbox, coverage, look, now } = this.#deps;
    this.#receiver = new Receiver({
      hostId: inbox.metadata.hostId,
      engine: this.#connecting.promise,
      look,
      backlogMs: () => {
        const { oldestAtMs } = this.#publisher;
        return oldestAtMs === null ? 0 : Math.max(0, now() - oldestAtMs);
      },
      coverage,
      onError: this.#onError,
    });
  }

  stoodStill(): void {
    this.#receiver?.stoodStill();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.engine?.close();
  }

  #hear(hostId: string, body: Uint8Array): void {
    const atMs = this.#deps.now();
    try {
      const { backlog_ms: backlogMs } = heartbeatSchema.parse(JSON.parse(Buffer.from(body).toString()));
      this.#heard.set(hostId, { atMs, backlogMs });
      this.#heardAtMs = atMs;
      this.#failure = null;
    } catch (error) {
      this.#onError(error);
    }
  }
}
