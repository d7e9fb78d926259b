/** Counts per time slot; old slots are dropped. */
export class SlotCounts {
  readonly #slotMs: number;
  readonly #slots: number;
  readonly #counts = new Map<number, number>();
  #newest = 0;

  constructor(slotMs: number, slots: number) {
    this.#slotMs = slotMs;
    this.#slots = slots;
  }

  add(atMs: number, count = 1): void {
    const slot = Math.floor(atMs / this.#slotMs);
    if (slot <= this.#newest - this.#slots) return;
    this.#counts.set(slot, (this.#counts.get(slot) ?? 0) + count);
    if (slot <= this.#newest) return;
    this.#newest = slot;
    for (const each of this.#counts.keys()) if (each <= slot - this.#slots) this.#counts.delete(each);
  }

  /** Sums the slots entirely between two instants. @param cap the most that one slot contributes. */
  within(fromMs: number, toMs: number, cap = Number.POSITIVE_INFINITY): number {
    const end = Math.floor(toMs / this.#slotMs);
    let sum = 0;
    for (let slot = Math.ceil(fromMs / this.#slotMs); slot < end; slot += 1) {
      sum += Math.min(cap, this.#counts.get(slot) ?? 0);
    }
    return sum;
  }

  latest(nowMs: number, slots: number): number {
    const endMs = (Math.floor(nowMs / this.#slotMs) + 1) * this.#slotMs;
    return this.within(endMs - slots * this.#slotMs, endMs);
  }
}
