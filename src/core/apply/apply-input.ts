/** Applies one input to the tables. Uses no clock, randomness or I/O (docs/architecture.md#data-flow). */
import type { Input, ListedInput, MissedInput, ReadRequestInput } from '../input.ts';
import type { Fact } from './fact.ts';
import { applyDelivery } from './apply-delivery.ts';
import { applyRead } from './apply-read.ts';
import { raiseBarrier } from './barrier.ts';
import { UnitOfWork } from './unit-of-work.ts';
import { applyDecision } from './held-removals.ts';
import { applyListCompleted, refuteAbsence } from './removal.ts';
import { applyLookupMissed } from './remove-rows.ts';
import type { Tables } from './tables.ts';
import { unreadProduct } from '../merge/unknown.ts';
import { afterGrace, afterSecrets } from '../merge/way-in.ts';

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
    case 'list_completed':
      applyListCompleted(work, input);
      break;
    case 'request_reads':
      applyRequests(work, input);
      break;
    case 'bundles_due':
      applyBundlesDue(work);
      break;
    case 'untold_due':
      work.state = { ...work.state, ...afterGrace(work.state, input.atMs) };
      break;
    case 'secrets':
      work.state = { ...work.state, ...afterSecrets(work.state, input.fingerprints, input.atMs) };
      break;
    case 'missed':
      applyMissed(work, input);
      break;
    case 'lookup_missed':
      applyLookupMissed(work, input);
      break;
    case 'allow_removals':
      applyDecision(work, input);
      break;
    case 'run_begun':
    case 'run_ended':
    // Recorded by mirror/writer/records.ts.
  }
  work.close();
}

function applyListed(work: UnitOfWork, { productIds, sentAtMs, lookup }: ListedInput): void {
  for (const productId of productIds) {
    const product = work.tables.product(productId);
    if (product === undefined) work.tables.putProduct(unreadProduct(productId));
    else refuteAbsence(work, product, sentAtMs);
    if (product === undefined || product.goneAtMs !== null || lookup) {
      work.requestRead(productId, lookup ? 'unmapped' : 'listed');
    }
  }
}

function applyRequests(work: UnitOfWork, input: ReadRequestInput): void {
  for (const productId of input.productIds) work.requestRead(productId, input.reason);
  for (const variantId of input.variantIds) work.requestVariantRead(variantId, input.reason);
}

function applyBundlesDue(work: UnitOfWork): void {
  work.state = { ...work.state, bundlesDueAtMs: null };
  for (const productId of work.tables.bundleProducts()) work.requestRead(productId, 'bundle');
}

function applyMissed(work: UnitOfWork, { why, variantIds }: MissedInput): void {
  switch (why) {
    case 'not_stored':
      if (variantIds === null || variantIds.length === 0) raiseBarrier(work);
      else applyNotStored(work, variantIds);
      return;
    case 'first_start':
    case 'port_closed':
    case 'killed':
    case 'stood_still':
    case 'unserved':
    case 'stream_gap':
      raiseBarrier(work);
  }
}

function applyNotStored(work: UnitOfWork, variantIds: readonly string[]): void {
  // They arrived, and were refused.
  work.state = { ...work.state, lastDeliveryAtMs: work.input.atMs };
  for (const variantId of variantIds) work.requestVariantRead(variantId, 'not_stored');
  const { untold, wayIn } = work.state;
  if (wayIn === 'missing' || untold === null) return;
  if (variantIds.includes(untold.variantId)) work.state = { ...work.state, untold: null };
}
