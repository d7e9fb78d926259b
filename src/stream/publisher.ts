/** Publishes what this host has received, oldest first, after it was answered. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Missed } from '../core/input.ts';
import { missedBody, readMissed } from '../inbox/missed.ts';
import type { InboxRow } from '../inbox/inbox-file.ts';
import type { SetAside } from '../inbox/report.ts';
import { parseDelivery } from '../store-api/delivery.ts';
import { variantIdsOf } from '../store-api/variant-ids.ts';
import { TooLargeError, type Engine, type LogSubject } from './engine.ts';
import type { OwnHost } from './own-host.ts';

interface PublisherDeps {
  readonly host: Pick<OwnHost, 'hostId' | 'lastRun' | 'lastSeq' | 'now' | 'unpublished'>;
  readonly engine: Promise<Engine>;
  readonly onSetAside: (setAside: SetAside, error: TooLargeError) => void;
  readonly onError: (error: unknown) => void;
}

type Row = InboxRow & { readonly id: string };

const SUBJECTS = { delivery: 'deliveries', test: 'tests', missed: 'missed' } as const satisfies Record<
  InboxRow['kind'],
  LogSubject
>;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 4_000;
const POLL_MS = 20;

export class Publisher {
  readonly #deps: PublisherDeps;
  #arrived = Promise.withResolvers<void>();
  publishedSeq: number;
  #streamSeq = 0;
  /** When the oldest row that waits arrived; null if none is known to wait. */
  oldestAtMs: number | null = null;

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
    this.publishedSeq = deps.host.lastRun.publishedSeq;
  }

  /** The highest number in the stream of the last flight, or of the log before it; 0 if neither is known. */
  get streamSeq(): number {
    return this.#streamSeq;
  }

  /** @param lastSeq everything that this host has published is in the log by then. */
  beginLog(lastSeq: number): void {
    this.#streamSeq = lastSeq;
  }

  arrived(): void {
    this.#arrived.resolve();
  }

  /** Resolves once every row up to this one is in the stream. */
  async untilPublished(seq: number, signal: AbortSignal): Promise<void> {
    while (this.publishedSeq < seq) await wait(POLL_MS, undefined, { ref: false, signal });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { engine, host, onError } = this.#deps;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      try {
        this.#arrived = Promise.withResolvers();
        if (this.publishedSeq >= host.lastSeq) await this.#arrived.promise;
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

  /** One flight: all of its messages are sent at once, and awaited. */
  async #publishSome(): Promise<void> {
    const { rows, upToSeq } = this.#deps.host.unpublished(this.publishedSeq);
    this.oldestAtMs = rows[0]?.arrivedAtMs ?? null;
    const engine = await this.#deps.engine;
    const acks = await Promise.allSettled(rows.map((row) => this.#publish(engine, row)));
    let streamSeq = 0;
    for (const [at, ack] of acks.entries()) {
      if (ack.status === 'rejected') {
        this.publishedSeq = (rows[at]?.seq ?? 1) - 1;
        throw ack.reason;
      }
      streamSeq = Math.max(streamSeq, ack.value);
    }
    if (rows.length > 0) this.#streamSeq = streamSeq;
    this.publishedSeq = upToSeq;
    // Otherwise the next flight knows, and a heartbeat that is sent before it must not say that nothing waits.
    if (upToSeq >= this.#deps.host.lastSeq) this.oldestAtMs = null;
  }

  async #publish(engine: Engine, row: Row): Promise<number> {
    const { id, kind, body, arrivedAtMs } = row;
    const { hostId } = this.#deps.host;
    try {
      return await engine.publish(SUBJECTS[kind], body, { id, hostId, arrivedAtMs });
    } catch (error) {
      if (!(error instanceof TooLargeError)) throw error;
      const seq = await this.#publishInstead(engine, row);
      if (kind !== 'missed') this.#report(row, error);
      return seq;
    }
  }

  /**
   * Mirrors read the variants of a body that the servers refuse for good, or everything if even their list is
   * too long.
   */
  async #publishInstead(engine: Engine, row: Row): Promise<number> {
    const { hostId } = this.#deps.host;
    const publish = (missed: Missed): Promise<number> =>
      engine.publish('missed', missedBody(missed), { id: `${row.id}-instead`, hostId });
    const instead = missedInsteadOf(row);
    try {
      return await publish(instead);
    } catch (error) {
      if (!(error instanceof TooLargeError)) throw error;
      return await publish({ ...instead, variantIds: null });
    }
  }

  #report({ body }: Row, error: TooLargeError): void {
    const { requestId } = parseDelivery(body);
    this.#deps.onSetAside({ atMs: this.#deps.host.now(), requestId, bytes: body.byteLength }, error);
  }
}

function missedInsteadOf({ kind, body, arrivedAtMs }: Row): Missed {
  if (kind === 'missed') return readMissed(body, arrivedAtMs);
  return {
    why: 'not_stored',
    sinceMs: arrivedAtMs,
    untilMs: arrivedAtMs,
    variantIds: variantIdsOf(body),
  };
}
