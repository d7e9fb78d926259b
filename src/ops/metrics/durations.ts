/** A histogram whose counts come from the receiver's report, and not from observations of this process. */
import type { Registry } from 'prom-client';
import type { Durations } from '../../inbox/report.ts';

interface ReportedHistogram {
  readonly name: string;
  readonly help: string;
  readonly boundsSeconds: readonly number[];
  /** null while there is no report. */
  readonly durations: () => Durations | null;
}

export function registerDurations(
  registry: Registry,
  { name, help, boundsSeconds, durations }: ReportedHistogram,
): void {
  const get = () => {
    const { buckets, sumSeconds } = durations() ?? { buckets: [], sumSeconds: 0 };
    const bounds = [...boundsSeconds, '+Inf'] as const;
    let count = 0;
    const values = bounds.map((le, at) => {
      count += buckets[at] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le }, value: count };
    });
    return {
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: [
        ...values,
        { metricName: `${name}_sum`, labels: {}, value: sumSeconds },
        { metricName: `${name}_count`, labels: {}, value: count },
      ],
    };
  };
  // The registry asks no more of a metric than its name and its values.
  registry.registerMetric({ name, get: () => Promise.resolve(get()) } as never);
}
