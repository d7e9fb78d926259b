/** Each reason to read leaves a durable request, gap or lookup (docs/architecture.md#re-read-requests). */
import type { Input } from '../../../src/core/input.ts';
import type { Fact } from '../../../src/core/apply/fact.ts';
import { EARLIEST_MS, REPLICA_LAG_MS } from '../../../src/core/limits.ts';
import type { Tables } from '../../../src/core/apply/tables.ts';
import { ASKING_FOR_READ } from '../../core/branches.ts';

export function checkRequests(
  tables: Tables,
  input: Input,
  facts: readonly Fact[],
  fault: (what: string) => void,
): void {
  const { kind, atMs } = input;
  const isBarrier = kind === 'missed' && input.variantIds === null;
  if (isBarrier && tables.state().trustedAfterMs < atMs + REPLICA_LAG_MS)
    fault(`rows are trusted although nobody listened, at ${atMs}`);
  for (const fact of facts) {
    const what = whatAsksForRead(fact);
    if (what === null) continue;
    if ('variantId' in fact && fact.variantId !== null) {
      if (!isRequested(tables, fact.variantId, atMs))
        fault(`no read is requested after "${what}" of ${fact.variantId}, at ${atMs}`);
    } else if (fact.kind !== 'dead_letter') {
      fault(`no read is requested after "${what}", at ${atMs}`);
    }
  }
}

function whatAsksForRead(fact: Fact): string | null {
  if (fact.kind === 'dead_letter') return fact.problem;
  return (fact.kind === 'change' || fact.kind === 'level') && ASKING_FOR_READ.has(fact.branch)
    ? fact.branch
    : null;
}

function isRequested(tables: Tables, variantId: string, atMs: number): boolean {
  const variant = tables.variant(variantId);
  // Another item of the same body may have closed the gap.
  if (variant === undefined || tables.gapsOf(variantId).length > 0) return true;
  if (variant.productId === null || variant.lookupAtMs !== null) return variant.lookupAtMs !== null;
  return (tables.readRequest(variant.productId)?.madeAtMs ?? EARLIEST_MS) >= atMs;
}
