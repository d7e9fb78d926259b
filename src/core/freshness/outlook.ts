/**
 * How many levels are expected to be wrong at a time, for so many reads an hour (docs/freshness.md#the-curve): each rate
 * class is read at the uncertainty at which a read saves the same, and that price is what the budget makes it.
 */
import { shareOfClass } from './activity.ts';
import { valueOfUncertainty } from './read-value.ts';

interface Store {
  readonly countOfClass: ArrayLike<number>;
  readonly changesPerMs: number;
  readonly lossRate: number;
}

const HOUR_MS = 60 * 60_000;
const HALVINGS = 60;

/** @returns levels that are wrong at a time. */
export function expectedWrongAt(store: Store, readsPerHour: number): number {
  const steps = stepsOf(store.lossRate);
  const classes = Array.from(store.countOfClass, (count, i) => ({
    count,
    rate: shareOfClass(i) * store.changesPerMs,
  }));
  const busy = classes.filter(({ count }) => count > 0);
  const at = (priceMs: number): { reads: number; wrong: number } => {
    let reads = 0;
    let wrong = 0;
    for (const { count, rate } of busy) {
      const step = stepAt(steps, priceMs * rate);
      reads += count * rate * step.reads;
      wrong += count * step.wrong;
    }
    return { reads: reads * HOUR_MS, wrong };
  };
  let low = 1e-6;
  let high = 1e18;
  for (let i = 0; i < HALVINGS; i++) {
    const middle = Math.sqrt(low * high);
    if (at(middle).reads > readsPerHour) low = middle;
    else high = middle;
  }
  return at(high).wrong;
}

/** What comes of reading a level at an uncertainty: in units of the time between two of its changes. */
interface Step {
  readonly value: number;
  readonly reads: number;
  /** The share of the time that it is wrong. */
  readonly wrong: number;
}

const STEPS = 400;
const LEAST_UNCERTAINTY = 1e-9;
const MOST_UNCERTAINTY = 50;

function stepsOf(q: number): Step[] {
  return Array.from({ length: STEPS }, (_, i) => {
    const h = LEAST_UNCERTAINTY * (MOST_UNCERTAINTY / LEAST_UNCERTAINTY) ** (i / (STEPS - 1));
    // Of what is not lost so much comes until then, and begins anew.
    const received = (h * (1 - q)) / q;
    return {
      value: valueOfUncertainty(h, q),
      reads: (1 - q) / Math.expm1(received),
      wrong: h / q < 1e-4 ? h / 2 : 1 - ((1 - q) * Math.expm1(-h / q)) / Math.expm1(-received),
    };
  });
}

/** The first uncertainty at which a read is worth the price; what is never worth it is never read. */
function stepAt(steps: readonly Step[], price: number): Step {
  let low = 0;
  let high = steps.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle]?.value ?? 0) < price) low = middle + 1;
    else high = middle;
  }
  return steps[low] ?? { value: 0, reads: 0, wrong: 1 };
}
