/** Applies one input to the tables. Uses no clock, randomness or I/O (docs/architecture.md#data-flow). */
import type { DowntimeInput, DueInput, Input, ListedInput, ReadRequestInput } from '../input.ts';
import type { Fact } from './fact.ts';
import { applyDelivery } from './apply-delivery.ts';
import { applyRead } from './apply-read.ts';
import { UnitOfWork } from './unit-of-work.ts';
import { REPLICA_LAG_MS } from '../limits.ts';
import { applyLookupMissed } from './removal.ts';
import type { Tables } from './tables.ts';
import { unmappedVariant, unreadProduct } from '../merge/unknown.ts';

export function applyInput(tables: Tables, input: Input, report: (fact: Fact) => void): void {
  const work = new UnitOfWork(tables, input, report);
  switch (input.kind) {
    case 'delivery':
      applyDelivery(work, input);
      break;
    case 'read':
      applyRead(work, input);
      break;
    case 'listed':
      applyListed(work, input);
      break;
    case 'request_reads':
      applyRequests(work, input);
      break;
    case 'due':
      applyDue(work, input);
      break;
    case 'downtime':
      applyDowntime(work, input);
      break;
    case 'lookup_missed':
      applyLookupMissed(work, input);
      break;
    case 'allow_removals':
      work.state = { ...work.state, removalsAllowedUntilMs: input.untilMs };
      for (const productId of tables.heldProducts()) work.requestRead(productId, 'operator');
      break;
    case 'run_begun':
    case 'run_ended':
    case 'given_up':
      // Recorded by mirror/writer/records.ts.
      break;
  }
  work.close();
}

function applyListed(work: UnitOfWork, input: ListedInput): void {
  for (const productId of input.productIds) {
    const product = work.tables.product(productId);
    if (product === undefined) work.tables.putProduct(unreadProduct(productId));
    if (product === undefined || product.goneAtMs !== null || input.lookup) {
      work.requestRead(productId, input.lookup ? 'unmapped' : 'listed');
    }
  }
}

function applyRequests(work: UnitOfWork, input: ReadRequestInput): void {
  for (const productId of input.productIds) work.requestRead(productId, input.reason);
  for (const variantId of input.variantIds) {
    const variant = work.tables.variant(variantId) ?? unmappedVariant(variantId, null);
    work.tables.putVariant(work.requestVariantRead(variant, input.reason));
  }
}

function applyDue(work: UnitOfWork, input: DueInput): void {
  switch (input.what) {
    case 'bundles':
      work.state = { ...work.state, bundlesDueAtMs: null };
      for (const productId of work.tables.bundleProducts()) work.requestRead(productId, 'bundle');
      break;
    case 'loss':
      work.report({ kind: 'loss_suspected' });
      break;
  }
}

function applyDowntime(work: UnitOfWork, input: DowntimeInput): void {
  work.state = { ...work.state, trustedAfterMs: input.atMs + REPLICA_LAG_MS };
}
