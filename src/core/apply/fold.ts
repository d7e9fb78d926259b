/**
 * The fold: one log entry into the tables. No clock, no randomness, no I/O but through `Tables`
 * (docs/architecture.md#data-flow).
 */
import type { DowntimeEntry, DueEntry, Entry, EpochEntry, ListedEntry, ObligeEntry } from '../entry.ts';
import type { Fact } from './fact.ts';
import { foldDelivery } from './fold-delivery.ts';
import { foldRead } from './fold-read.ts';
import { Ledger } from './ledger.ts';
import { REPLICA_LAG_MS } from '../limits.ts';
import { foldLookupMissed } from './removal.ts';
import type { Tables } from './tables.ts';
import { unmappedVariant, unreadProduct } from '../merge/unknown.ts';

/**
 * @param entry the next entry of the log: entries are folded in the order of `seq`, each once.
 * @param report is called with each fact, in order.
 */
export function fold(tables: Tables, entry: Entry, report: (fact: Fact) => void): void {
  const ledger = new Ledger(tables, entry, report);
  switch (entry.kind) {
    case 'delivery':
      foldDelivery(ledger, entry);
      break;
    case 'read':
      foldRead(ledger, entry);
      break;
    case 'listed':
      foldListed(ledger, entry);
      break;
    case 'oblige':
      foldOblige(ledger, entry);
      break;
    case 'due':
      foldDue(ledger, entry);
      break;
    case 'downtime':
      foldDowntime(ledger, entry);
      break;
    case 'lookup_missed':
      foldLookupMissed(ledger, entry);
      break;
    case 'allow_removals':
      ledger.state = { ...ledger.state, removalsAllowedUntilMs: entry.untilMs };
      for (const productId of tables.heldProducts()) ledger.oblige(productId, 'operator');
      break;
    case 'epoch':
      foldEpoch(ledger, entry);
      break;
    case 'run_begun':
    case 'run_ended':
    case 'given_up':
    case 'pruned':
      // Not about the store's figures: mirror/writer/records.ts.
      break;
  }
  ledger.close();
}

/** Products new to the mirror, or back in the list after their removal, must be read. */
function foldListed(ledger: Ledger, entry: ListedEntry): void {
  for (const productId of entry.productIds) {
    const product = ledger.tables.product(productId);
    if (product === undefined) ledger.tables.putProduct(unreadProduct(productId));
    if (product === undefined || product.goneAtMs !== null || entry.lookup) {
      ledger.oblige(productId, entry.lookup ? 'unmapped' : 'listed');
    }
  }
}

function foldOblige(ledger: Ledger, entry: ObligeEntry): void {
  for (const productId of entry.productIds) ledger.oblige(productId, entry.reason);
  for (const variantId of entry.variantIds) {
    const variant = ledger.tables.variant(variantId) ?? unmappedVariant(variantId, null);
    ledger.tables.putVariant(ledger.obligeVariant(variant, entry.reason));
  }
}

function foldDue(ledger: Ledger, entry: DueEntry): void {
  switch (entry.what) {
    case 'bundles':
      ledger.state = { ...ledger.state, bundlesDueAtMs: null };
      for (const productId of ledger.tables.bundleProducts()) ledger.oblige(productId, 'bundle');
      break;
    case 'canary':
      ledger.state = {
        ...ledger.state,
        canaryDueAtMs: null,
        canarySentAtMs: entry.atMs,
        lossProvedAtMs: entry.atMs,
      };
      ledger.sendCanary(entry);
      break;
  }
}

function foldDowntime(ledger: Ledger, entry: DowntimeEntry): void {
  ledger.state = { ...ledger.state, trustedAfterMs: entry.atMs + REPLICA_LAG_MS };
}

/** Strictly above: a copy from before this entry is then always behind what has been given out since. */
function foldEpoch(ledger: Ledger, entry: EpochEntry): void {
  const { changeSeq } = ledger.state;
  ledger.state = {
    ...ledger.state,
    changeSeq: Math.max(changeSeq, entry.givenOutSeq) + 1,
    trustedAfterMs: entry.atMs + REPLICA_LAG_MS,
  };
}
