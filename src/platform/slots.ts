/**
 * Values that still wait for something, each under a number of its own: like a Map, but for values that come and go
 * all the time.
 *
 * V8 gives such a Map, or Set, a new table every few dozen keys, and the old table keeps the new one and all that was
 * in it. Once one of them is old enough to be collected rarely, every later one is kept until then, with all that its
 * values hold: two kilobytes of each delivery, and a pause of the thread for every few thousand of them.
 */
export class Slots<T extends object> {
  readonly #values: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#values.length - this.#free.length;
  }

  /** @returns its number, which may be given out again once the value was taken. */
  put(value: T): number {
    const slot = this.#free.pop() ?? this.#values.length;
    this.#values[slot] = value;
    return slot;
  }

  /** @returns undefined when nothing has this number. */
  take(slot: number): T | undefined {
    const value = this.#values[slot];
    if (value === undefined) return undefined;
    this.#values[slot] = undefined;
    this.#free.push(slot);
    return value;
  }

  takeAll(): T[] {
    return this.entries().map(([slot, value]) => {
      this.take(slot);
      return value;
    });
  }

  /** All that are there, with their numbers. */
  entries(): [number, T][] {
    const found: [number, T][] = [];
    for (const [slot, value] of this.#values.entries()) if (value !== undefined) found.push([slot, value]);
    return found;
  }
}
