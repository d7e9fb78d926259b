import { EARLIEST_MS, MOVED_LOOKUP_MS } from '../limits.ts';
import type { StockLevel, Product, Variant } from '../model.ts';

export function blankLevel(variantId: string, warehouseId: string): StockLevel {
  return {
    variantId,
    warehouseId,
    qty: 0,
    source: 'webhook',
    asOfMs: EARLIEST_MS,
    eventTimeMs: EARLIEST_MS,
    eventOld: 0,
    eventCount: 0,
    eventAtMs: EARLIEST_MS,
    readLoMs: EARLIEST_MS,
    readHiMs: EARLIEST_MS,
    readAtMs: EARLIEST_MS,
    verifiedAtMs: null,
    onHand: null,
    reservedQty: null,
    onHandAsOfMs: null,
    missingAtMs: null,
    goneAtMs: null,
    changeSeq: 0,
  };
}

export function unmappedVariant(variantId: string, sku: string | null): Variant {
  return {
    variantId,
    productId: null,
    sku,
    upc: null,
    name: '',
    kind: 'own',
    availableQty: null,
    onHand: null,
    reservedQty: null,
    allowNegativeStock: false,
    priceJson: null,
    cost: null,
    bundledByCount: 0,
    asOfMs: EARLIEST_MS,
    verifiedAtMs: null,
    totalHiMs: EARLIEST_MS,
    eventAtMs: EARLIEST_MS,
    missingAtMs: null,
    goneAtMs: null,
    lookupAtMs: null,
    changeSeq: 0,
  };
}

export function unreadProduct(productId: string): Product {
  return {
    productId,
    name: null,
    parentId: null,
    updateTimeMs: null,
    detailJson: null,
    readAtMs: EARLIEST_MS,
    readUntilMs: EARLIEST_MS,
    missingAtMs: null,
    goneAtMs: null,
    hasBundle: false,
    conflictReads: 0,
    removalAllowedBy: null,
  };
}

/**
 * Decides the search for a variant that something newer than its last read has named: one without a product
 * may be anywhere, and a removed one lives, perhaps in another product. A search that has missed it begins again.
 */
export function searchFor(variant: Variant, atMs: number): Pick<Variant, 'lookupAtMs' | 'missingAtMs'> {
  const { productId, goneAtMs, lookupAtMs, missingAtMs } = variant;
  if (lookupAtMs !== null) {
    return missingAtMs === null ? { lookupAtMs, missingAtMs } : { lookupAtMs: atMs, missingAtMs: null };
  }
  if (productId === null) return { lookupAtMs: atMs, missingAtMs: null };
  return { lookupAtMs: goneAtMs === null ? null : atMs + MOVED_LOOKUP_MS, missingAtMs };
}
