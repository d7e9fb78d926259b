import { z } from 'zod';
import type { Store } from '../store.ts';
import { camelCased, snakeCased } from './names.ts';

const probability = z.number().min(0).max(1);
export const ms = z.int().min(0).max(3_600_000);
const YEAR_MS = 365 * 86_400_000;
const range = (what: string) =>
  z
    .strictObject({ min: ms.describe(`shortest ${what}, ms`), max: ms.describe(`longest ${what}, ms`) })
    .refine(({ min, max }) => min <= max, 'min must not exceed max');

export const faultsSchema = z
  .strictObject({
    loss: probability.describe('webhook lost'),
    duplicate: probability.describe('webhook sent twice'),
    reorder: probability.describe('webhook overtaken by later ones'),
    delay_ms: range('delay of a webhook'),
    tail: z
      .strictObject({
        probability: probability.describe('webhook delayed much longer'),
        max_ms: ms.describe('by at most, ms'),
      })
      .partial(),
    batch_ms: ms.describe('changes share a webhook for, ms'),
    latency_ms: range('latency of the API'),
    slow: z
      .strictObject({ probability: probability.describe('slow answer'), ms: ms.describe('slower by, ms') })
      .partial(),
    stale: z
      .strictObject({
        probability: probability.describe('stale product detail'),
        age_ms: z.int().min(0).max(5_000).describe('age of a stale detail, ms'),
      })
      .partial(),
    fail: z
      .strictObject({
        server_error: probability.describe('request answered 500'),
        slow_down: probability.describe('request answered 429'),
        retry_after_s: z.int().min(0).max(3_600).describe('Retry-After of a 429, s'),
        invalid_token: probability.describe('request answered 401'),
        reset: probability.describe('connection cut, nothing done'),
        lost_answer: probability.describe('request done, then connection cut'),
      })
      .partial(),
    access_denied: z.boolean().describe('orders and addresses answer 403 access_denied'),
    quota_exceeded: z.boolean().describe('new orders answer 403 quota_exceeded'),
    clock_offset_ms: z.int().min(-YEAR_MS).max(YEAR_MS).describe('store’s clock ahead by, ms'),
    node_skew_ms: ms.describe('clocks of the store’s servers differ by up to, ms'),
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
