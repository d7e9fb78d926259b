import { z } from 'zod';
import type { Store } from '../store.ts';
import { camelCased, snakeCased } from './names.ts';

const probability = z.number().min(0).max(1);
export const ms = z.int().min(0).max(3_600_000);
const YEAR_MS = 365 * 86_400_000;
const range = z
  .strictObject({ min: ms, max: ms })
  .refine(({ min, max }) => min <= max, 'min must not exceed max');

export const faultsSchema = z
  .strictObject({
    loss: probability,
    duplicate: probability,
    reorder: probability,
    delay_ms: range,
    tail: z
      .strictObject({
        probability,
        max_ms: ms,
      })
      .partial(),
    batch_ms: ms,
    latency_ms: range,
    slow: z.strictObject({ probability, ms }).partial(),
    stale: z
      .strictObject({
        probability,
        age_ms: z.int().min(0).max(5_000),
      })
      .partial(),
    fail: z
      .strictObject({
        server_error: probability,
        slow_down: probability,
        retry_after_s: z.int().min(0).max(3_600),
        invalid_token: probability,
        reset: probability,
        lost_answer: probability,
      })
      .partial(),
    access_denied: z.boolean(),
    quota_exceeded: z.boolean(),
    clock_offset_ms: z.int().min(-YEAR_MS).max(YEAR_MS),
    node_skew_ms: ms,
  })
  .partial();

type Fault = keyof typeof faultsSchema.shape;
type Part = 'access' | 'clock' | 'network' | 'reads';

/** The part of the store that has the fault, and its property. */
const PLACES: Readonly<Record<Fault, { readonly part: Part; readonly property: string }>> = {
  loss: { part: 'network', property: 'loss' },
  duplicate: { part: 'network', property: 'duplicate' },
  reorder: { part: 'network', property: 'reorder' },
  delay_ms: { part: 'network', property: 'delayMs' },
  tail: { part: 'network', property: 'tail' },
  batch_ms: { part: 'network', property: 'batchMs' },
  latency_ms: { part: 'reads', property: 'latencyMs' },
  slow: { part: 'reads', property: 'slow' },
  stale: { part: 'reads', property: 'stale' },
  fail: { part: 'reads', property: 'fail' },
  access_denied: { part: 'access', property: 'accessDenied' },
  quota_exceeded: { part: 'access', property: 'quotaExceeded' },
  clock_offset_ms: { part: 'clock', property: 'offsetMs' },
  node_skew_ms: { part: 'clock', property: 'nodeSkewMs' },
};

export function readFaults(store: Store): Record<string, unknown> {
  const faults = Object.entries(PLACES).map(([fault, { part, property }]) => [
    fault,
    snakeCased(partOf(store, part)[property]),
  ]);
  return Object.fromEntries(faults) as Record<string, unknown>;
}

/** Omitted faults, and omitted fields of a fault, keep their values. */
export function setFaults(store: Store, faults: z.output<typeof faultsSchema>): void {
  for (const [fault, value] of Object.entries(faults)) {
    const { part, property } = PLACES[fault as Fault];
    const owner = partOf(store, part);
    owner[property] =
      typeof value === 'object'
        ? { ...(owner[property] as object), ...(camelCased(value) as object) }
        : value;
  }
}

function partOf(store: Store, part: Part): Record<string, unknown> {
  return store[part] as unknown as Record<string, unknown>;
}
