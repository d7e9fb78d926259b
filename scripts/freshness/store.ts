/** The store of the bench: which products change how often, what a delivery carries, and which deliveries are lost. */

const HOUR_MS = 60 * 60_000;

export interface StorePlan {
  readonly products: number;
  readonly law: 'zipf' | 'uniform';
  /** On average, at ordinary times. */
  readonly changesPerSecond: number;
  /** Of deliveries. */
  readonly loss: number;
  readonly losses: 'even' | 'bursts';
  readonly weather: 'calm' | 'sale' | 'night';
  /** Nothing is received for so long, an hour into what is measured. */
  readonly downtimeMs: number;
  readonly seed: number;
}

/** One, two or three items: 1.45 on average. */
const TWO_ITEMS = 0.35;
const THREE_ITEMS = 0.1;
export const ITEMS_A_DELIVERY = 1 + TWO_ITEMS + THREE_ITEMS;
/** How long everything is lost, on average, where losses come in bursts. */
const BURST_MS = 60_000;
const SALE = { fromMs: HOUR_MS, untilMs: 2 * HOUR_MS, times: 100 };
const NIGHT = { hours: 8, times: 0.02 };

/** How often each product changes, per second. Which product is how popular has nothing to do with its number. */
export function ratesOf({ products, law, changesPerSecond }: StorePlan, random: () => number): Float64Array {
  const rates = Float64Array.from({ length: products }, (_, i) => (law === 'zipf' ? 1 / (i + 1) : 1));
  const sum = rates.reduce((total, rate) => total + rate, 0);
  for (let i = products - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [rates[i], rates[j]] = [rates[j] ?? 0, rates[i] ?? 0];
  }
  return rates.map((rate) => (rate * changesPerSecond) / sum);
}

/** How much more or less than ordinarily the store sells. @param atMs since what is measured began. */
export function timesAt({ weather }: StorePlan, atMs: number): number {
  switch (weather) {
    case 'calm':
      return 1;
    case 'sale':
      return atMs >= SALE.fromMs && atMs < SALE.untilMs ? SALE.times : 1;
    case 'night':
      return Math.floor(atMs / HOUR_MS) % 24 < NIGHT.hours && atMs >= 0 ? NIGHT.times : 1;
  }
}

/** Draws products by how often they change, in constant time (Walker's alias method). */
export function drawerOf(rates: Float64Array, random: () => number): () => number {
  const n = rates.length;
  const mean = rates.reduce((total, rate) => total + rate, 0) / n;
  const share = rates.map((rate) => rate / mean);
  const alias = Int32Array.from({ length: n }, (_, i) => i);
  const small: number[] = [];
  const large: number[] = [];
  share.forEach((one, i) => (one < 1 ? small : large).push(i));
  for (let less = small.pop(), more = large.pop(); less !== undefined && more !== undefined;) {
    alias[less] = more;
    share[more] = (share[more] ?? 0) - (1 - (share[less] ?? 0));
    if ((share[more] ?? 0) < 1) {
      less = more;
      more = large.pop();
    } else less = small.pop();
  }
  return () => {
    const i = Math.floor(random() * n);
    return random() < (share[i] ?? 1) ? i : (alias[i] ?? i);
  };
}

export function itemsOf(random: () => number): number {
  const one = random();
  if (one < THREE_ITEMS) return 3;
  return one < THREE_ITEMS + TWO_ITEMS ? 2 : 1;
}

/** Whether a delivery sent at an instant is lost; asked in the order of time. */
export function lossesOf({ loss, losses }: StorePlan, random: () => number): (atMs: number) => boolean {
  if (losses === 'even') return () => random() < loss;
  const exponential = (meanMs: number): number => -Math.log(1 - random()) * meanMs;
  const apartMs = loss === 0 ? Infinity : (BURST_MS * (1 - loss)) / loss;
  let isLost = false;
  let untilMs = Number.NaN;
  return (atMs) => {
    if (Number.isNaN(untilMs)) untilMs = atMs + exponential(apartMs);
    while (atMs >= untilMs) {
      isLost = !isLost;
      untilMs += exponential(isLost ? BURST_MS : apartMs);
    }
    return isLost;
  };
}

export function poisson(mean: number, random: () => number): number {
  if (mean > 50) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
  }
  let count = -1;
  for (let product = 1; product > Math.exp(-mean); count++) product *= random();
  return Math.max(0, count);
}
