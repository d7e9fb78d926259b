/**
 * The mirror's clock follows the receiver's and is never ahead of it (docs/architecture.md#own-clock). Reads
 * are stamped by this clock and deliveries by the receiver's. A read therefore never seems to be sent later
 * after a delivery than it was.
 */
import { REPLICA_LAG_MS } from '../core/limits.ts';
import type { HostTime } from '../platform/host-time.ts';
import { MOST_AHEAD_MS, OwnClock, SLEW, type ClockReading } from '../platform/own-clock.ts';

/** Where the receiver's clock stood at the machine's boot, according to one of its readings. */
interface Base {
  readonly baseMs: number;
  readonly sinceBootMs: number;
}

/** Two processes round the time since the boot differently. A larger difference is a step. */
const ROUNDING_MS = 20;

export class FollowingClock {
  readonly #host: Omit<HostTime, 'monotonicMs'>;
  /**
   * Used until a receiver of this boot has written a reading: no delivery is stamped before. If the receiver begins
   * behind it, the reads that it stamped are void (src/mirror/start.ts).
   */
  readonly #alone: OwnClock;
  /** Oldest first: those that were in force within the last `REPLICA_LAG_MS`. */
  #bases: readonly Base[] = [];
  #lastMs = Number.NEGATIVE_INFINITY;

  /** @param last the receiver's last reading, of this boot or an earlier one. */
  constructor(host: Omit<HostTime, 'monotonicMs'>, last: ClockReading | null) {
    this.#host = host;
    this.#alone = new OwnClock(host, last);
    if (last !== null && this.#isOfThisBoot(last)) this.#add(last);
  }

  /** Epoch ms; never less than before, but for a step back by `follow`. */
  readonly now = (): number => {
    this.#lastMs = Math.max(this.#lastMs, this.#reachedMs());
    return this.#lastMs;
  };

  /**
   * Takes over the receiver's last reading. Call it about once a second. @param reading null while the inbox
   * cannot be read.
   * @returns by how much the clock stepped back: 0 unless the receiver's clock was wrong, or began behind
   * this one.
   */
  follow(reading: ClockReading | null): number {
    if (reading !== null && this.#isOfThisBoot(reading)) this.#add(reading);
    else if (this.#bases.length === 0) this.#alone.approach();
    const backMs = this.#lastMs - this.#reachedMs();
    if (backMs <= ROUNDING_MS) return 0;
    this.#bases = this.#bases.slice(-1);
    this.#lastMs = this.#reachedMs();
    return backMs;
  }

  #isOfThisBoot({ bootId }: ClockReading): boolean {
    return bootId !== null && bootId === this.#host.bootId;
  }

  #add({ clockMs, sinceBootMs }: ClockReading): void {
    const baseMs = clockMs - sinceBootMs;
    const last = this.#bases.at(-1);
    if (sinceBootMs === last?.sinceBootMs && baseMs === last.baseMs) return;
    const bases = [...this.#bases, { baseMs, sinceBootMs }];
    const fromMs = this.#host.sinceBootMs() - REPLICA_LAG_MS;
    // A base is in force until the next reading.
    this.#bases = bases.filter((_, at) => (bases[at + 1]?.sinceBootMs ?? Infinity) > fromMs);
  }

  /**
   * The least that the receiver's clock may show: with the lowest base of the last `REPLICA_LAG_MS`, because
   * a clock that was set ahead makes earlier deliveries look older than they are, and as if it had slewed
   * back since each reading.
   */
  #reachedMs(): number {
    if (this.#bases.length === 0) return this.#alone.now();
    const atMs = this.#host.sinceBootMs();
    const lowest = this.#bases.map(({ baseMs, sinceBootMs }, at) => {
      const untilMs = this.#bases[at + 1]?.sinceBootMs ?? atMs;
      return baseMs - Math.min(MOST_AHEAD_MS, Math.max(0, untilMs - sinceBootMs) * SLEW);
    });
    return Math.floor(Math.min(...lowest) + atMs);
  }
}
