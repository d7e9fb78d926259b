/** Publishes what this host has received, oldest first, after it was answered. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Engine } from './engine.ts';
import type { StreamInbox } from './stream-inbox.ts';

interface PublisherDeps {
  readonly inbox: Pick<StreamInbox, 'lastSeq' | 'metadata' | 'unpublished'>;
  readonly engine: Promise<Engine>;
  readonly onError: (error: unknown) => void;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 4_000;

export class Publisher {
  readonly #deps: PublisherDeps;
  #arrived = Promise.withResolvers<void>();
  publishedSeq: number;
  /** When the oldest row that waits arrived; null if none is known to wait. */
  oldestAtMs: number | null = null;

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
    this.publishedSeq = deps.inbox.metadata.publishedSeq;
  }

  arrived(): void {
    this.#arrived.resolve();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { engine, inbox, onError } = this.#deps;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      try {
        this.#arrived = Promise.withResolvers();
        if (this.publishedSeq >= inbox.lastSeq) await this.#arrived.promise;
        await this.#publishSome();
        pauseMs = FIRST_PAUSE_MS;
      } catch (error) {
        if (signal.aborted) return;
        onError(error);
        await wait(pauseMs, undefined, { ref: false });
        pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
        await (await engine).prepare().catch(onError);
      }
    }
  }

  async #publishSome(): Promise<void> {
    const { rows, upToSeq } = this.#deps.inbox.unpublished(this.publishedSeq);
    this.oldestAtMs = rows[0]?.arrivedAtMs ?? null;
    const engine = await this.#deps.engine;
    const acks = await Promise.allSettled(
      rows.map(({ kind, id, body, arrivedAtMs }) =>
        engine.publish(kind === 'delivery' ? 'deliveries' : 'notices', body, { id, arrivedAtMs }),
      ),
    );
    for (const [at, ack] of acks.entries()) {
      if (ack.status === 'fulfilled') continue;
      this.publishedSeq = (rows[at]?.seq ?? 1) - 1;
      throw ack.reason;
    }
    this.publishedSeq = upToSeq;
    this.oldestAtMs = null;
  }
}
