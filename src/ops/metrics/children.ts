/** A metric's children by the values of its only label. Made once, so that counting allocates nothing and every series exists. */
import type { Counter, Gauge, Histogram } from 'prom-client';

/** Every value of a union, checked to be complete. */
export function valuesOf<K extends string>(all: Readonly<Record<K, true>>): readonly K[] {
  return Object.keys(all) as K[];
}

export function counters<K extends string>(
  counter: Counter,
  values: readonly K[],
): Readonly<Record<K, Counter.Internal>> {
  return byValue(values, (value) => {
    const child = counter.labels(value);
    child.inc(0);
    return child;
  });
}

export function gauges<K extends string>(
  gauge: Gauge,
  values: readonly K[],
): Readonly<Record<K, Gauge.Internal<string>>> {
  return byValue(values, (value) => {
    const child = gauge.labels(value);
    child.set(0);
    return child;
  });
}

export function histograms<K extends string>(
  histogram: Histogram,
  values: readonly K[],
): Readonly<Record<K, Histogram.Internal<string>>> {
  return byValue(values, (value) => histogram.labels(value));
}

function byValue<K extends string, V>(values: readonly K[], make: (value: K) => V): Readonly<Record<K, V>> {
  return Object.fromEntries(values.map((value) => [value, make(value)])) as Record<K, V>;
}
