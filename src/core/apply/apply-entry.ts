/**
 * The projection: one log entry into the tables. No clock, no randomness, no I/O but through `Tables`
 * (docs/architecture.md#data-flow).
 */
import type { DowntimeEntry, DueEntry, Entry, ListedEntry, ReadRequestEntry } from '../entry.ts';
import type { Fact } from './fact.ts';
import { applyDelivery } from './apply-delivery.ts';
import { applyRead } from './apply-read.ts';
import { UnitOfWork } from './unit-of-work.ts';
import { REPLICA_LAG_MS } from '../limits.ts';
import { applyLookupMissed } from './removal.ts';
import type { Tables } from './tables.ts';
import { unmappedVariant, unreadProduct } from '../merge/unknown.ts';

/**
 * @param entry the next entry of the log: entries are applied in the order of `seq`, each once.
 * @param report is called with each fact, in order.
 */
export function applyEntry(tables: Tables, entry: Entry, report: (fact: Fact) => void): void {
  const work = new UnitOfWork(tables, entry, report);
  switch (entry.kind) {
    case 'delivery':
      applyDelivery(work, entry);
      break;
    case 'read':
      applyRead(work, entry);
      break;
    case 'listed':
      applyListed(work, entry);
      break;
    case 'oblige':
      applyRequests(work, entry);
      break;
    case 'due':
      applyDue(work, entry);
      break;
    case 'downtime':
      applyDowntime(work, entry);
      break;
    case 'lookup_missed':
      applyLookupMissed(work, entry);
      break;
    case 'allow_removals':
      work.state = { ...work.state, removalsAllowedUntilMs: entry.untilMs };
      for (const productId of tables.heldProducts()) work.requestRead(productId, 'operator');
      break;
    case 'run_begun':
    case 'run_ended':
    case 'given_up':
      // Not about the store's figures: mirror/writer/records.ts.
      break;
  }
  work.close();
}

/** Products new to the mirror, or back in the list after their removal, must be read. */
function applyListed(work: UnitOfWork, entry: ListedEntry): void {
  for (const productId of entry.productIds) {
    const product = work.tables.product(productId);
    if (product === undefined) work.tables.putProduct(unreadProduct(productId));
    if (product === undefined || product.goneAtMs !== null || entry.lookup) {
      work.requestRead(productId, entry.lookup ? 'unmapped' : 'listed');
    }
  }
}

function applyRequests(work: UnitOfWork, entry: ReadRequestEntry): void {
  for (const productId of entry.productIds) work.requestRead(productId, entry.reason);
  for (const variantId of entry.variantIds) {
    const variant = work.tables.variant(variantId) ?? unmappedVariant(variantId, null);
    work.tables.putVariant(work.requestVariantRead(variant, entry.reason));
  }
}

function applyDue(work: UnitOfWork, entry: DueEntry): void {
  switch (entry.what) {
    case 'bundles':
      work.state = { ...work.state, bundlesDueAtMs: null };
      for (const productId of work.tables.bundleProducts()) work.requestRead(productId, 'bundle');
      break;
    case 'loss':
      work.report({ kind: 'loss_suspected' });
      break;
  }
}

function applyDowntime(work: UnitOfWork, entry: DowntimeEntry): void {
  work.state = { ...work.state, trustedAfterMs: entry.atMs + REPLICA_LAG_MS };
}
