import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Fact } from '../../core/apply/fact.ts';
import { DRIFT_REASONS } from '../../core/drift-reasons.ts';

export type Counting = ReturnType<typeof createCounting>;

export function createCounting(registry: Registry) {
  const registers = [registry];
  new Gauge({
    name: 'stock_mirror_build_info',
    help: 'Always 1; the labels name the versions.',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version: packageJson.version, node_version: process.version }, 1);
  const gaps = new Counter({
    name: 'stock_mirror_gaps_total',
    help:
      'Gaps in the chain of old and new quantities: opened, closed by a late delivery, ' +
      'or proved to be a lost delivery.',
    labelNames: ['event'],
    registers,
  });
  const drift = new Counter({
    name: 'stock_mirror_drift_total',
    help: 'Differences from the store that reads found and corrected, by probable reason.',
    labelNames: ['reason'],
    registers,
  });
  const deadLetters = new Counter({
    name: 'stock_mirror_dead_letters_total',
    help: 'Dead letters: authentic deliveries or items that were not understood.',
    registers,
  });
  const repairSeconds = new Histogram({
    name: 'stock_mirror_repair_seconds',
    help: 'Time from a read request or gap to the read that settled it.',
    buckets: [1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 900, 3_600],
    registers,
  });
  const deliveries = new Counter({
    name: 'stock_mirror_deliveries_total',
    help: 'Webhook requests, by response status and reason of refusal.',
    labelNames: ['answer', 'reason'],
    registers,
  });
  // Prometheus sees increases only from a scraped value.
  deliveries.inc({ answer: '204', reason: '' }, 0);
  for (const reason of ['not_stored', 'late', 'no_room']) deliveries.inc({ answer: '503', reason }, 0);
  for (const event of ['opened', 'closed', 'proved']) gaps.inc({ event }, 0);
  for (const reason of DRIFT_REASONS) drift.inc({ reason }, 0);
  return {
    deliveries,
    requests: new Counter({
      name: 'stock_mirror_service_requests_total',
      help: 'Requests sent to the store, by endpoint and response status; none: no complete answer.',
      labelNames: ['endpoint', 'status'],
      registers,
    }),
    countFact(fact: Fact, nowMs: number): void {
      if (fact.kind === 'gap_opened') gaps.inc({ event: 'opened' });
      else if (fact.kind === 'gap_closed') gaps.inc({ event: 'closed' });
      else if (fact.kind === 'gap_proved') {
        gaps.inc({ event: 'proved' });
        repairSeconds.observe(Math.max(0, nowMs - fact.gap.openedAtMs) / 1_000);
      } else if (fact.kind === 'met') repairSeconds.observe(Math.max(0, fact.ageMs) / 1_000);
      else if (fact.kind === 'drift') drift.inc({ reason: fact.reason });
      else if (fact.kind === 'dead_letter') deadLetters.inc();
    },
  };
}
