/**
 * The policy before there was a model of uncertainty, kept as what the model is measured against: the loss sweep after a proof,
 * the schedule every quarter of an hour, and the share of the product read longest ago.
 */
import { REPLICA_LAG_MS } from '../../src/core/limits.ts';
import { LossSweep } from './loss-sweep.ts';
import type { Policy } from './policy.ts';
import type { Setting } from './run.ts';

const SCHEDULE_MS = 15 * 60_000;
const SCHEDULED_READS = 5_000;
const FAIR_SHARE = 5;
const FAIR_AGE_MS = 10 * 60_000;
/** Its loss sweeps were larger. */
const SWEPT_PRODUCTS = 200;

export function formerPolicy(setting: Setting): Policy {
  const {
    known,
    plan: { products },
    startMs,
  } = setting;
  const lossSweep = new LossSweep(setting, SWEPT_PRODUCTS);
  const stale = new Map<number, number>();
  let provedAtMs = -Infinity;
  let scheduleAtMs = startMs + SCHEDULE_MS;
  let sinceFair = 0;

  const schedule = (nowMs: number): void => {
    const found: number[] = [];
    for (let product = 0; product < products; product++) {
      const readAtMs = known.readAtMs[product] ?? 0;
      if ((known.changedAtMs[product] ?? 0) >= readAtMs || readAtMs < provedAtMs) found.push(product);
    }
    found.sort((a, b) => (known.changedAtMs[b] ?? 0) - (known.changedAtMs[a] ?? 0));
    for (const product of found.slice(0, SCHEDULED_READS)) stale.set(product, nowMs);
  };
  return {
    name: 'former policy',
    changed: (product) => lossSweep.changed(product),
    wasRead: (product, sentAtMs) => {
      lossSweep.wasRead(product, sentAtMs);
      if ((stale.get(product) ?? Infinity) + REPLICA_LAG_MS <= sentAtMs) stale.delete(product);
    },
    proved: (loss, nowMs) => {
      if (loss.by === 'gap') provedAtMs = nowMs;
      lossSweep.proved(loss, nowMs);
    },
    take: (nowMs, free, ruled) => {
      if (nowMs >= scheduleAtMs) {
        scheduleAtMs += SCHEDULE_MS;
        schedule(nowMs);
      }
      const due = new Set(lossSweep.due(nowMs, free));
      for (const [product, madeAtMs] of stale) {
        if (due.size >= free) break;
        if (madeAtMs + REPLICA_LAG_MS <= nowMs) due.add(product);
      }
      const reads: number[] = [];
      const fair = lossSweep.byRead.keys();
      sinceFair += ruled;
      for (const product of due) {
        if (reads.length >= free) break;
        sinceFair += 1;
        if (sinceFair >= FAIR_SHARE) {
          sinceFair -= FAIR_SHARE;
          const { value: first } = fair.next();
          if (first !== undefined && (known.readAtMs[first] ?? 0) < nowMs - FAIR_AGE_MS) reads.push(first);
        }
        if (reads.length < free) reads.push(product);
      }
      return reads;
    },
  };
}
