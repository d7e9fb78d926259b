/** Counts per time slot, for a bounded time back. Counting is one addition to an array. */

export class SlotCounts {
  readonly slotMs: number;
  readonly #counts: Float64Array;
  #newest: number;

  /** @param slots how many slots of `slotMs` are kept, the current one included. */
  constructor(slotMs: number, slots: number, nowMs: number) {
    this.slotMs = slotMs;
    this.#counts = new Float64Array(slots);
    this.#newest = this.#slotOf(nowMs);
  }

  add(atMs: number, count = 1): void {
    const slot = this.#slotOf(atMs);
    this.#advance(slot);
    if (slot <= this.#newest - this.#counts.length) return;
    const index = this.#indexOf(slot);
    this.#counts[index] = (this.#counts[index] ?? 0) + count;
  }

  /**
   * The counts of all slots that lie entirely between two instants.
   *
   * @param cap the most that one slot contributes.
   */
  within(fromMs: number, toMs: number, cap = Number.POSITIVE_INFINITY): number {
    let sum = 0;
    const last = Math.min(Math.floor(toMs / this.slotMs) - 1, this.#newest);
    const first = Math.max(Math.ceil(fromMs / this.slotMs), this.#newest - this.#counts.length + 1);
    for (let slot = first; slot <= last; slot += 1) {
      sum += Math.min(cap, this.#counts[this.#indexOf(slot)] ?? 0);
    }
    return sum;
  }

  /** The counts of the last `slots` slots up to now, the current one included. */
  latest(nowMs: number, slots: number): number {
    const end = (this.#slotOf(nowMs) + 1) * this.slotMs;
    return this.within(end - slots * this.slotMs, end);
  }

  #advance(slot: number): void {
    const length = this.#counts.length;
    for (let next = Math.max(this.#newest + 1, slot - length + 1); next <= slot; next += 1) {
      this.#counts[this.#indexOf(next)] = 0;
    }
    this.#newest = Math.max(this.#newest, slot);
  }

  #slotOf(atMs: number): number {
    return Math.floor(atMs / this.slotMs);
  }

  #indexOf(slot: number): number {
    const length = this.#counts.length;
    return ((slot % length) + length) % length;
  }
}
