/** Tells the mirrors that this host listens, and since when none did. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Engine } from './engine.ts';
import { missedBody } from '../inbox/missed.ts';
import type { StreamCoverage } from './stream-inbox.ts';

/** The times at which receivers listened, by the engine's clock: those of receivers may differ by seconds. */
export interface Coverage {
  readonly openSinceMs: number;
  /** The port was open since this receiver's last heartbeat: the process lives, or its socket was passed in. */
  readonly isContinued: boolean;
  /** This receiver's previous heartbeat; null if there is none. */
  readonly ownLastMs: number | null;
  readonly othersLastMs: readonly number[];
}

/** Heartbeats are a second apart, and may be late. */
const TOLERANCE_MS = 3_000;

/** @returns since when no receiver listened, until this one did; null if one always did, or none was ever heard. */
export function downSince({ openSinceMs, isContinued, ownLastMs, othersLastMs }: Coverage): number | null {
  if (isContinued && ownLastMs !== null) return null;
  const covered = othersLastMs.map((atMs) => atMs + TOLERANCE_MS);
  if (ownLastMs !== null) covered.push(ownLastMs);
  const untilMs = Math.max(...covered);
  return covered.length > 0 && openSinceMs > untilMs ? untilMs : null;
}

interface ReceiverDeps {
  readonly hostId: string;
  readonly engine: Promise<Engine>;
  /** Notices a standstill. */
  readonly look: () => void;
  /** Age of the oldest delivery that is not in the stream; 0 if there is none. */
  readonly backlogMs: () => number;
  readonly coverage: Pick<StreamCoverage, 'unsureSinceMs' | 'sure'>;
  readonly onError: (error: unknown) => void;
}

const EVERY_MS = 1_000;

export class Receiver {
  readonly #deps: ReceiverDeps;
  /** By the monotonic clock. */
  #openSinceMs = performance.now();
  /** The heartbeats continue those before: coverage has no gap. */
  #isSettled = false;

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
  }

  /** This process received nothing until now. */
  stoodStill(): void {
    this.#openSinceMs = performance.now();
    this.#isSettled = false;
  }

  async run(signal: AbortSignal): Promise<void> {
    const engine = await this.#deps.engine;
    while (!signal.aborted) {
      try {
        // Before a heartbeat denies a standstill.
        this.#deps.look();
        if (this.#isSettled) await engine.publish(`heartbeat.${this.#deps.hostId}`, this.#heartbeat());
        else await this.#settle(engine);
      } catch (error) {
        this.#isSettled = false;
        if (!signal.aborted) this.#deps.onError(error);
      }
      await wait(EVERY_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
  }

  /** Publishes a gap before the first heartbeat, which ends its proof: after a kill, the next start still finds it. */
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
      isContinued: this.#deps.coverage.unsureSinceMs === null,
      ownLastMs: heartbeats.find(({ subject }) => subject === own)?.atMs ?? null,
      othersLastMs: heartbeats.filter(({ subject }) => subject !== own).map(({ atMs }) => atMs),
    });
    if (sinceMs !== null) {
      // Another one after a further standstill must not be dropped as the same.
      const id = `${hostId}.${sinceMs}.${openSinceMs}`;
      await engine.publish(
        'notices',
        missedBody({
          why: 'stream_gap',
          sinceMs,
          untilMs: start.atMs,
          variantIds: null,
        }),
        { id },
      );
    }
    // The process may have stood still meanwhile.
    if (openSinceMs !== this.#openSinceMs) return;
    await engine.publish(own, this.#heartbeat());
    this.#isSettled = true;
    this.#deps.coverage.sure();
  }

  #heartbeat(): Uint8Array {
    return Buffer.from(JSON.stringify({ backlog_ms: this.#deps.backlogMs() }));
  }
}
