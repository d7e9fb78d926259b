import { z } from 'zod';
import type { Store } from '../sandbox.ts';
import { renameKeys, toCamelCase, toSnakeCase } from './operations.ts';

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
    batch_ms: ms.describe('changes within this time share a webhook, ms'),
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

type Owner = Record<string, unknown>;

function placeOf({ network, reads, access, clock }: Store, fault: string): readonly [Owner, string] {
  const property = fault === 'clock_offset_ms' ? 'offsetMs' : toCamelCase(fault);
  const owner = [network, reads, access, clock].find((part) => property in part);
  if (owner === undefined) throw new Error(`no part of the store has the fault ${fault}`);
  return [owner as unknown as Owner, property];
}

export function readFaults(store: Store): Record<string, unknown> {
  return renameKeys(
    Object.fromEntries(
      Object.keys(faultsSchema.shape).map((fault) => {
        const [owner, property] = placeOf(store, fault);
        return [fault, owner[property]];
      }),
    ),
    toSnakeCase,
  );
}

export function setFaults(store: Store, faults: z.output<typeof faultsSchema>): void {
  for (const [fault, value] of Object.entries(faults)) {
    const [owner, property] = placeOf(store, fault);
    owner[property] =
      typeof value === 'object'
        ? { ...(owner[property] as object), ...renameKeys(value, toCamelCase) }
        : value;
  }
}
