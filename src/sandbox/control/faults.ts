import { z } from 'zod';
import type { Access } from '../shared/access.ts';
import type { Clock } from '../world/clock.ts';
import type { Network } from '../network/network.ts';
import type { Reads } from '../network/reads.ts';

const probability = z.number().min(0).max(1);
const ms = z.int().min(0).max(3_600_000);
const YEAR_MS = 365 * 86_400_000;
const rangeMs = z
  .union([ms, z.strictObject({ min: ms, max: ms })])
  .transform((value) => (typeof value === 'number' ? { min: value, max: value } : value))
  .refine(({ min, max }) => min <= max, 'min must not exceed max');

/** Body of `POST /sandbox/faults`. Omitted fields keep their values. */
export const faultsSchema = z.strictObject({
  loss: probability.optional(),
  reorder: probability.optional(),
  duplicate: probability.optional(),
  delay_ms: rangeMs.optional(),
  tail: z.strictObject({ probability, max_ms: ms }).optional(),
  batch_ms: ms.optional(),
  latency_ms: rangeMs.optional(),
  stale: z.strictObject({ probability, age_ms: z.int().min(0).max(5_000).optional() }).optional(),
  slow: z.strictObject({ probability, ms }).optional(),
  fail: z
    .strictObject({
      server_error: probability.optional(),
      slow_down: probability.optional(),
      invalid_token: probability.optional(),
      reset: probability.optional(),
      lost_answer: probability.optional(),
      retry_after_s: z.int().min(0).max(3_600).optional(),
    })
    .optional(),
  access_denied: z.boolean().optional(),
  quota_exceeded: z.boolean().optional(),
  clock_offset_ms: z.int().min(-YEAR_MS).max(YEAR_MS).optional(),
  node_skew_ms: ms.optional(),
});

interface Faulty {
  readonly access: Access;
  readonly clock: Clock;
  readonly network: Network;
  readonly reads: Reads;
}

/** The current faults, in the form in which they are set. */
export function readFaults({ access, clock, network, reads }: Faulty): z.output<typeof faultsSchema> {
  return {
    loss: network.loss,
    reorder: network.reorder,
    duplicate: network.duplicate,
    delay_ms: network.delayMs,
    tail: { probability: network.tail.probability, max_ms: network.tail.maxMs },
    batch_ms: network.batchMs,
    latency_ms: reads.latencyMs,
    stale: { probability: reads.stale.probability, age_ms: reads.stale.ageMs },
    slow: reads.slow,
    fail: {
      server_error: reads.fail.serverError,
      slow_down: reads.fail.slowDown,
      invalid_token: reads.fail.invalidToken,
      reset: reads.fail.reset,
      lost_answer: reads.fail.lostAnswer,
      retry_after_s: reads.fail.retryAfterS,
    },
    access_denied: access.denied,
    quota_exceeded: access.quotaExceeded,
    clock_offset_ms: clock.offsetMs,
    node_skew_ms: clock.nodeSkewMs,
  };
}

export function setFaults(
  { access, clock, network, reads }: Faulty,
  faults: z.output<typeof faultsSchema>,
): void {
  network.loss = faults.loss ?? network.loss;
  network.reorder = faults.reorder ?? network.reorder;
  network.duplicate = faults.duplicate ?? network.duplicate;
  network.delayMs = faults.delay_ms ?? network.delayMs;
  network.batchMs = faults.batch_ms ?? network.batchMs;
  if (faults.tail) network.tail = { probability: faults.tail.probability, maxMs: faults.tail.max_ms };
  reads.latencyMs = faults.latency_ms ?? reads.latencyMs;
  reads.slow = faults.slow ?? reads.slow;
  if (faults.stale) {
    const { probability, age_ms: ageMs = reads.stale.ageMs } = faults.stale;
    reads.stale = { probability, ageMs };
  }
  if (faults.fail) {
    reads.fail = {
      serverError: faults.fail.server_error ?? reads.fail.serverError,
      slowDown: faults.fail.slow_down ?? reads.fail.slowDown,
      invalidToken: faults.fail.invalid_token ?? reads.fail.invalidToken,
      reset: faults.fail.reset ?? reads.fail.reset,
      lostAnswer: faults.fail.lost_answer ?? reads.fail.lostAnswer,
      retryAfterS: faults.fail.retry_after_s ?? reads.fail.retryAfterS,
    };
  }
  access.denied = faults.access_denied ?? access.denied;
  access.quotaExceeded = faults.quota_exceeded ?? access.quotaExceeded;
  clock.offsetMs = faults.clock_offset_ms ?? clock.offsetMs;
  clock.nodeSkewMs = faults.node_skew_ms ?? clock.nodeSkewMs;
}
