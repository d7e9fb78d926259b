/** What happens when, in virtual time: a heap by time, first in first out within an instant. */

interface Event<T> {
  readonly atMs: number;
  readonly order: number;
  readonly what: T;
}

export class Events<T> {
  readonly #heap: Event<T>[] = [];
  #order = 0;

  at(atMs: number, what: T): void {
    const heap = this.#heap;
    const event = { atMs, order: this.#order++, what };
    let i = heap.length;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, event)) break;
      heap[i] = above;
      i = parent;
    }
    heap[i] = event;
  }

  get nextAtMs(): number {
    return this.#heap[0]?.atMs ?? Infinity;
  }

  next(): Event<T> | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let i = 0;
    for (;;) {
      const left = heap[2 * i + 1];
      const right = heap[2 * i + 2];
      const isRight = right !== undefined && left !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (child === undefined || isBefore(last, child)) break;
      heap[i] = child;
      i = 2 * i + (isRight ? 2 : 1);
    }
    heap[i] = last;
    return top;
  }
}

function isBefore(a: Event<unknown>, b: Event<unknown>): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
