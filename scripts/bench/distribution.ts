/** Times as a distribution: what a percentile hides, the rows of the picture show. */

export interface Distribution {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** How many took no longer than each bound, and longer than the one before it. */
  readonly buckets: readonly { readonly upToMs: number; readonly count: number }[];
}

const BOUNDS_MS = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000, Number.POSITIVE_INFINITY];

export function distributionOf(timesMs: readonly number[]): Distribution {
  const sorted = Float64Array.from(timesMs).sort();
  const buckets = BOUNDS_MS.map((upToMs) => ({ upToMs, count: 0 }));
  for (const ms of sorted) {
    const bucket = buckets.find(({ upToMs }) => ms <= upToMs);
    if (bucket !== undefined) bucket.count += 1;
  }
  const at = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
  return {
    count: sorted.length,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    p999Ms: at(0.999),
    maxMs: at(1),
    buckets,
  };
}

/** One line a bucket, from the first to the last that has any. */
export function picture({ buckets, count }: Distribution): string[] {
  const last = buckets.findLastIndex((bucket) => bucket.count > 0);
  return buckets.slice(0, last + 1).map(({ upToMs, count: here }, i) => {
    const bound = Number.isFinite(upToMs) ? `≤ ${upToMs} ms` : `> ${buckets[i - 1]?.upToMs ?? 0} ms`;
    const share = here / count;
    // A single one of a million must be seen: any has at least a dot.
    const bar = share >= 0.01 ? '█'.repeat(Math.round(share * 40) || 1) : here > 0 ? '·' : '';
    return `${bound.padStart(12)} ${String(here).padStart(8)} ${bar}`;
  });
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const at = (index: number): number => sorted[index] ?? NaN;
  return sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2;
}
