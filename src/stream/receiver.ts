/** Tells the mirrors that this host listens, and since when none did. */
import { setTimeout as wait } from 'node:timers/promises';
import { downSince } from './coverage.ts';
import type { Engine } from './engine.ts';
import { noticeBody } from './notices.ts';

interface ReceiverDeps {
  readonly hostId: string;
  readonly engine: Promise<Engine>;
  /** The process's clock: it notices a standstill when it is asked. */
  readonly now: () => number;
  /** Age of the oldest delivery that is not in the stream; 0: none. */
  readonly backlogMs: () => number;
  /** Deliveries may be missing since then, if no other receiver listened; null: none can be missing. */
  readonly unsureSinceMs: number | null;
  readonly onError: (error: unknown) => void;
}

const EVERY_MS = 1_000;

export class Receiver {
  readonly #deps: ReceiverDeps;
  /** By the monotonic clock. */
  #openSinceMs = performance.now();
  #isContinued: boolean;
  /** The heartbeats continue those before: coverage has no gap. */
  #isSettled = false;
  /** Until the stream has shown whether another receiver listened. */
  unsureSinceMs: number | null;

  /** To be made when the public port is open. */
  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
    this.unsureSinceMs = deps.unsureSinceMs;
    this.#isContinued = deps.unsureSinceMs === null;
  }

  /** This process received nothing until now. */
  stoodStill(sinceMs: number): void {
    this.#openSinceMs = performance.now();
    this.#isContinued = false;
    this.#isSettled = false;
    this.unsureSinceMs ??= sinceMs;
  }

  async run(signal: AbortSignal): Promise<void> {
    const engine = await this.#deps.engine;
    while (!signal.aborted) {
      try {
        // Notices a standstill before a heartbeat denies it.
        this.#deps.now();
        if (this.#isSettled) await engine.publish(`heartbeat.${this.#deps.hostId}`, this.#heartbeat());
        else await this.#settle(engine);
      } catch (error) {
        this.#isSettled = false;
        if (!signal.aborted) this.#deps.onError(error);
      }
      await wait(EVERY_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
  }

  /**
   * Publishes a gap in the coverage before the first heartbeat, which ends the proof of it: a kill in between leaves the
   * gap to the next start.
   */
  async #settle(engine: Engine): Promise<void> {
    const { hostId } = this.#deps;
    await engine.prepare();
    const openSinceMs = this.#openSinceMs;
    const openForMs = performance.now() - openSinceMs;
    await engine.publish(`start.${hostId}`, this.#heartbeat());
    const [start] = await engine.last(`start.${hostId}`);
    const heartbeats = await engine.last('heartbeat.*');
    if (start === undefined) throw new Error('the engine has lost the message that it has just stored');
    const own = `heartbeat.${hostId}` as const;
    const sinceMs = downSince({
      openSinceMs: start.atMs - openForMs,
      isContinued: this.#isContinued,
      ownLastMs: heartbeats.find(({ subject }) => subject === own)?.atMs ?? null,
      othersLastMs: heartbeats.filter(({ subject }) => subject !== own).map(({ atMs }) => atMs),
    });
    if (sinceMs !== null) {
      const id = `${hostId}.${sinceMs}`;
      await engine.publish('notices', noticeBody({ kind: 'downtime', downSinceMs: sinceMs }), { id });
    }
    // The process may have stood still meanwhile.
    if (openSinceMs !== this.#openSinceMs) return;
    await engine.publish(own, this.#heartbeat());
    this.#isSettled = true;
    this.unsureSinceMs = null;
  }

  #heartbeat(): Uint8Array {
    return Buffer.from(JSON.stringify({ backlog_ms: this.#deps.backlogMs() }));
  }
}
