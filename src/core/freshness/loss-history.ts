/**
 * How many changes the store is expected to have lost since an instant (docs/freshness.md#how-much-was-lost). A proven loss
 * says when it can have happened: after the level was last certain, before it was found wrong. Losses come in groups, so
 * each minute has a rate of its own: it is expected like the others until proofs speak for or against it.
 */
const MINUTE_MS = 60_000;
/** Older than that, losses are spread evenly. */
const KEPT_MINUTES = 24 * 60;
/** The rate of loss is that of the last hours: half of what is older is forgotten. */
const RATE_FADES = 2 ** (-1 / (6 * 60));
/** Before anything is known: one change in ten thousand, as if ten thousand had been seen. */
const PRIOR_LOSS_RATE = 1e-4;
const PRIOR_CHANGES = 10_000;
const MAX_LOSS_RATE = 0.5;
/** The traffic is that of the last half hour. */
const TRAFFIC_FADES = 2 ** (-1 / 20);
/**
 * How much the rate of a minute may differ from the others': the shape of its gamma distribution, and the least scale of it.
 * The smaller, the more a single proof tells.
 */
const MINUTE_SHAPE = 0.3;
const MINUTE_SCALE = 0.5;

/** What is kept of each minute, from the first on; the last is under way. */
interface LossMinutes {
  /** Minutes since 1970. */
  readonly first: number;
  readonly received: readonly number[];
  /** A proof belongs to several minutes, in parts. */
  readonly proven: readonly number[];
}

/** What follows from them at an instant. */
export interface Losses {
  /** How many of the changes to come are lost. */
  readonly lossRate: number;
  /** Of the whole store, lately. */
  readonly changesPerMs: number;
  readonly provenInLastHour: number;
  readonly firstMs: number;
  readonly nowMs: number;
  /** How many are expected lost from `firstMs` to the end of each minute. */
  readonly lostUpTo: readonly number[];
}

export class LossHistory {
  #first: number;
  #received: number[];
  #proven: number[];

  constructor({ first, received, proven }: LossMinutes) {
    this.#first = first;
    this.#received = [...received];
    this.#proven = [...proven];
  }

  /** Nothing is known of what was before. */
  static begunAt(nowMs: number): LossHistory {
    return new LossHistory({ first: Math.floor(nowMs / MINUTE_MS), received: [0], proven: [0] });
  }

  get minutes(): LossMinutes {
    return { first: this.#first, received: this.#received, proven: this.#proven };
  }

  /** Changes arrived; those of minutes that are no longer kept are left out. */
  received(changes: number, atMs: number): void {
    const i = this.#reach(atMs);
    if (i >= 0) this.#received[i] = (this.#received[i] ?? 0) + changes;
  }

  /** A level that was certain at `sinceMs` was found to lack a change. */
  proved(sinceMs: number, atMs: number): void {
    const to = Math.max(0, this.#reach(atMs));
    const from = Math.min(to, Math.max(0, this.#indexOf(sinceMs)));
    const { expected, lossRate } = this.#judged();
    // Where others were lost it was probably lost as well.
    const weights = this.#proven
      .slice(from, to + 1)
      .map((proven, i) => proven + lossRate * (expected[from + i] ?? 0) + 1e-9);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (const [i, weight] of weights.entries()) {
      this.#proven[from + i] = (this.#proven[from + i] ?? 0) + weight / total;
    }
  }

  at(nowMs: number): Losses {
    this.#reach(nowMs);
    const { expected, lossRate, traffic } = this.#judged();
    let sum = 0;
    const lostUpTo = expected.map((changes, i) => {
      const before = lossRate * changes;
      const scale = Math.min(MINUTE_SCALE, MINUTE_SHAPE / before);
      return (sum += (scale * before + (this.#proven[i] ?? 0)) / (scale + 1));
    });
    return {
      lossRate,
      changesPerMs: Math.max(traffic, 1e-3) / MINUTE_MS,
      provenInLastHour: this.#proven.slice(-60).reduce((all, one) => all + one, 0),
      firstMs: this.#first * MINUTE_MS,
      nowMs,
      lostUpTo,
    };
  }

  /** What was to be expected in each minute, and of those to come. */
  #judged(): { readonly expected: number[]; readonly lossRate: number; readonly traffic: number } {
    let traffic = this.#received[0] ?? 0;
    let changes = 0;
    let losses = 0;
    const last = this.#received.length - 1;
    const expected = this.#received.map((received, i) => {
      losses = losses * RATE_FADES + (this.#proven[i] ?? 0);
      changes = changes * RATE_FADES + received;
      if (i === last) return received;
      // Fewer than usual arrive where many are lost.
      const usual = Math.max(received, traffic);
      traffic = traffic * TRAFFIC_FADES + received * (1 - TRAFFIC_FADES);
      return usual;
    });
    const lossRate = (losses + PRIOR_CHANGES * PRIOR_LOSS_RATE) / (changes + PRIOR_CHANGES);
    return { expected, lossRate: Math.min(MAX_LOSS_RATE, lossRate), traffic };
  }

  /** Minutes up to an instant are there. @returns its place; negative: before what is kept. */
  #reach(atMs: number): number {
    const i = this.#indexOf(atMs);
    const missing = Math.min(i + 1 - this.#received.length, KEPT_MINUTES);
    if (missing <= 0) return i;
    for (const list of [this.#received, this.#proven]) {
      list.push(...new Array<number>(missing).fill(0));
      list.splice(0, Math.max(0, list.length - KEPT_MINUTES));
    }
    this.#first = Math.floor(atMs / MINUTE_MS) + 1 - this.#received.length;
    return this.#received.length - 1;
  }

  #indexOf(atMs: number): number {
    return Math.floor(atMs / MINUTE_MS) - this.#first;
  }
}

/** Changes of the whole store that are expected lost since then. */
export function lostSince({ firstMs, nowMs, lostUpTo }: Losses, sinceMs: number): number {
  const total = lostUpTo.at(-1) ?? 0;
  const place = (sinceMs - firstMs) / MINUTE_MS;
  const passed = (nowMs - firstMs) / MINUTE_MS;
  if (place >= passed) return 0;
  // Before what is kept all minutes were like the average.
  if (place < 0) return total * (1 - place / Math.max(1, passed));
  const i = Math.floor(place);
  const start = i === 0 ? 0 : (lostUpTo[i - 1] ?? 0);
  // The minute under way ends now.
  const length = Math.min(1, passed - i);
  return total - start - (((lostUpTo[i] ?? 0) - start) * (place - i)) / length;
}
