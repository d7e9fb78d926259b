/** The standard metrics of the process and of Node. A process has them once, whatever runs in it. */
import { collectDefaultMetrics, type Registry } from 'prom-client';

/** Sums of other metrics, under names that suggest counters. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Once per process: it observes the garbage collector and the event loop from then on. */
export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}
