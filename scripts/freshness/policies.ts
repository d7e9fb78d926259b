/** The policies that ours is measured against, but for the former one: round robin, most recent first, the best static one, an oracle. */
import { Events } from './events.ts';
import type { Policy } from './policy.ts';
import type { Setting } from './run.ts';
import { staticOptimum } from './static-optimum.ts';

const ignore = (): void => undefined;

/** So many an hour, evenly. */
class Pace {
  #allowed = 0;
  readonly #perSecond: number;

  constructor(readsPerHour: number) {
    this.#perSecond = readsPerHour / 3_600;
  }

  next(free: number): number {
    this.#allowed += this.#perSecond;
    const reads = Math.min(free, Math.floor(this.#allowed));
    this.#allowed -= reads;
    return reads;
  }
}

export function roundRobin(readsPerHour: number) {
  return ({ plan: { products } }: Setting): Policy => {
    const pace = new Pace(readsPerHour);
    let last = -1;
    return {
      name: 'round robin',
      changed: ignore,
      wasRead: ignore,
      proved: ignore,
      take: (_, free) => Array.from({ length: pace.next(free) }, () => (last = (last + 1) % products)),
    };
  };
}

export function recentFirst(readsPerHour: number) {
  return ({ known, plan: { products } }: Setting): Policy => {
    const pace = new Pace(readsPerHour);
    const changed: number[] = [];
    let last = -1;
    const next = (): number => {
      for (let product = changed.pop(); product !== undefined; product = changed.pop()) {
        if ((known.changedAtMs[product] ?? 0) > (known.readAtMs[product] ?? 0)) return product;
      }
      return (last = (last + 1) % products);
    };
    return {
      name: 'most recent first',
      changed: (product) => void changed.push(product),
      wasRead: ignore,
      proved: ignore,
      take: (_, free) => Array.from({ length: pace.next(free) }, next),
    };
  };
}

/** Reads of each product evenly, as often as is best for its true rate. */
export function staticPolicy(readsPerHour: number) {
  return ({ rates, random, startMs }: Setting): Policy => {
    const reads = staticOptimum(rates, readsPerHour / 3_600);
    const calendar = new Events<number>();
    reads.forEach((rate, product) => {
      if (rate > 0) calendar.at(startMs + (random() * 1_000) / rate, product);
    });
    return {
      name: 'static optimum',
      changed: ignore,
      wasRead: ignore,
      proved: ignore,
      take: (nowMs, free) => {
        const due: number[] = [];
        while (due.length < free && calendar.nextAtMs <= nowMs) {
          const event = calendar.next();
          if (event === undefined) break;
          due.push(event.what);
          calendar.at(event.atMs + 1_000 / (reads[event.what] ?? 1), event.what);
        }
        return due;
      },
    };
  };
}

/** Knows what is lost. */
export function oracle() {
  return (): Policy => {
    const lost = new Set<number>();
    return {
      name: 'oracle',
      changed: (product) => void lost.delete(product),
      wasRead: (product) => void lost.delete(product),
      proved: ignore,
      lost: (product) => void lost.add(product),
      take: (_, free) => [...lost].slice(0, free),
    };
  };
}
