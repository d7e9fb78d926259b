/** Times counted in classes, so that a quantile of any number of them takes the same room. */

/** Upper ends; the last class has none. Each is at most half as long again as the one before it, or twice. */
const CLASSES_MS = [
  1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1_000, 1_500, 2_000, 3_000,
  5_000, 7_000, 10_000, 15_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000,
];

export class Quantiles {
  readonly #classes = new Uint32Array(CLASSES_MS.length + 1);
  #count = 0;
  #longestMs = 0;

  add(ms: number): void {
    const place = CLASSES_MS.findIndex((end) => ms <= end);
    const at = place === -1 ? CLASSES_MS.length : place;
    this.#classes[at] = (this.#classes[at] ?? 0) + 1;
    this.#count += 1;
    this.#longestMs = Math.max(this.#longestMs, ms);
  }

  /** The upper end of the class that the quantile falls into, and never more than the longest. Null: there is no time. */
  at(share: number): number | null {
    if (this.#count === 0) return null;
    let seen = 0;
    for (const [at, count] of this.#classes.entries()) {
      seen += count;
      if (seen >= this.#count * share) return Math.min(CLASSES_MS[at] ?? this.#longestMs, this.#longestMs);
    }
    return this.#longestMs;
  }
}
