/** This host's part in the stream that several mirrors share (docs/architecture.md#several-machines). */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { InboxClient } from '../inbox/inbox-client.ts';
import type { StreamPlace } from '../inbox/inbox.ts';
import { createLimitedLog, type Logger } from '../platform/log.ts';
import { messageOf } from '../platform/thrown.ts';
import { Consumer } from './consumer.ts';
import type { Engine } from './engine.ts';
import { noticeBody, type Notice } from './notices.ts';
import { Publisher } from './publisher.ts';
import { Receiver } from './receiver.ts';

interface StreamDeps {
  /** Connects once; rejects when no server is reached. */
  readonly connect: () => Promise<Engine>;
  readonly inbox: Pick<InboxClient, 'append' | 'lastSeq' | 'metadata' | 'unpublished'>;
  /** null if this host only receives. */
  readonly mirror: {
    /** Resolves once the mirror will act on it, whatever happens. */
    readonly onNotice: (notice: Notice) => Promise<unknown>;
    /** Messages may be missing since then. */
    readonly onLost: (sinceMs: number) => void;
  } | null;
  readonly now: () => number;
  readonly log: Logger;
}

/** Reasons that deliveries of other hosts are not here, or those of this host not there. */
export interface StreamFacts {
  readonly silentSinceMs: number | null;
  /** The last failure since a heartbeat was heard. */
  readonly failure: string | null;
  /** A delivery has waited at a receiver or in the stream for a while. */
  readonly backlogSinceMs: number | null;
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
    const { inbox, mirror, now, log } = deps;
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
    this.#consumer =
      mirror === null
        ? null
        : new Consumer({
            ...shared,
            onNotice: mirror.onNotice,
            onLost: () => mirror.onLost(inbox.metadata.aliveAtMs ?? 0),
          });
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

  get backlog(): { readonly rows: number; readonly oldestAtMs: number | null } {
    const rows = Math.max(0, this.#deps.inbox.lastSeq - this.#publisher.publishedSeq);
    return { rows, oldestAtMs: this.#publisher.oldestAtMs };
  }

  /** Deliveries of all receivers are here, except those of the last seconds. */
  get isCurrent(): boolean {
    const { silentSinceMs, backlogSinceMs } = this.facts();
    return this.#consumer?.hasCaughtUp !== false && silentSinceMs === null && backlogSinceMs === null;
  }

  facts(): StreamFacts {
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
    };
  }

  /** Asks every mirror for reads. @throws Error while the engine cannot be used. */
  async append({ atMs: _, ...notice }: Notice & { readonly atMs: number }): Promise<void> {
    if (this.engine === null) throw new Error('the stream has not been reached yet');
    await this.engine.publish('notices', noticeBody(notice));
  }

  /** Call once the public port is open, before the start. See `Receiver.unsureSinceMs`. */
  receive(unsureSinceMs: number | null): void {
    const { inbox, now } = this.#deps;
    this.#receiver = new Receiver({
      hostId: inbox.metadata.hostId,
      engine: this.#connecting.promise,
      now,
      backlogMs: () => {
        const { oldestAtMs } = this.#publisher;
        return oldestAtMs === null ? 0 : Math.max(0, now() - oldestAtMs);
      },
      unsureSinceMs,
      onError: this.#onError,
    });
  }

  get unsureSinceMs(): number | null {
    return this.#receiver?.unsureSinceMs ?? null;
  }

  stoodStill(sinceMs: number): void {
    this.#receiver?.stoodStill(sinceMs);
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
