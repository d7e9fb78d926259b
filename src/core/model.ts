/**
 * The mirror's nouns, as the merge rules see them. Ids are the store's digit strings; instants are epoch ms, in
 * the mirror's own clock unless the comment says "store time".
 */

import { EARLIEST_MS, GAP_GRACE_DEFAULT_MS } from './limits.ts';
import type { Reason } from './reasons.ts';

export const SOURCES = ['webhook', 'read'] as const;
export type Source = (typeof SOURCES)[number];

export const VARIANT_KINDS = ['own', 'pulled', 'bundle', 'assembled'] as const;
export type VariantKind = (typeof VARIANT_KINDS)[number];

/** A stock level: the figure of one variant in one warehouse, with what is needed to apply the next input to it. */
export interface StockLevel {
  readonly variantId: string;
  readonly warehouseId: string;
  readonly qty: number;
  readonly source: Source;
  /** When the value was true: the change's update time (store time), or when the read was sent. */
  readonly asOfMs: number;
  /** Highest update time seen, store time; EARLIEST_MS before the first change. Never falls. */
  readonly eventTimeMs: number;
  /** The `old` of the earliest change known at `eventTimeMs`. */
  readonly eventOld: number;
  /** How many changes are known at exactly `eventTimeMs`. */
  readonly eventCount: number;
  /** Log position and arrival of the last delivery that touched the level; 0 and EARLIEST_MS when none has. */
  readonly eventSeq: number;
  readonly eventAtMs: number;
  /** Store time: the latest read certainly saw what was before `readLoMs`, certainly not what is after
   *  `readHiMs`. Both EARLIEST_MS until a read has set the level. */
  readonly readLoMs: number;
  readonly readHiMs: number;
  /** When the last read that confirmed the value was sent; on a tombstone, the last one that showed it. */
  readonly verifiedAtMs: number | null;
  readonly onHand: number | null;
  readonly reservedQty: number | null;
  readonly onHandAsOfMs: number | null;
  /** Pending removal: when the first read that no longer showed the level was sent; null while it is shown. */
  readonly missingAtMs: number | null;
  /** Set on a tombstone. */
  readonly goneAtMs: number | null;
  /** When a read moved the variant's total without showing its warehouses: the value may be wrong until a change sets
   *  it, or a read shows it. */
  readonly unexplainedAtMs: number | null;
  readonly changeSeq: number;
}

export interface Variant {
  readonly variantId: string;
  /** Null until a read has shown which product the variant belongs to. */
  readonly productId: string | null;
  readonly sku: string | null;
  readonly upc: string | null;
  readonly name: string;
  readonly kind: VariantKind;
  /** The sellable total; null until a read has shown it. */
  readonly availableQty: number | null;
  readonly onHand: number | null;
  readonly reservedQty: number | null;
  readonly allowNegativeStock: boolean;
  readonly priceJson: string | null;
  readonly cost: string | null;
  /** In how many bundles the variant is a component. */
  readonly bundledByCount: number;
  readonly asOfMs: number;
  readonly verifiedAtMs: number | null;
  /**
   * Store time: the high watermark of the latest read when it showed the total, and not all the levels below it; else
   * EARLIEST_MS.
   */
  readonly totalHiMs: number;
  readonly eventSeq: number;
  readonly eventAtMs: number;
  readonly missingAtMs: number | null;
  readonly goneAtMs: number | null;
  /** The variant's product is not known: look through the catalogue at this instant. Null: nothing to look up. */
  readonly lookupAtMs: number | null;
  readonly changeSeq: number;
}

export interface Product {
  readonly productId: string;
  readonly name: string | null;
  readonly parentId: string | null;
  /** Store time. */
  readonly updateTimeMs: number | null;
  /** The last detail as the store sent it; null until it was read. */
  readonly detailJson: string | null;
  /** `s0` and the sending time of the latest read merged; 0 and EARLIEST_MS before the first. */
  readonly readSeq: number;
  readonly readAtMs: number;
  /** When the last of all answers merged was received: a read sent less than a replica's lag after it may show less. */
  readonly readUntilMs: number;
  readonly missingAtMs: number | null;
  readonly goneAtMs: number | null;
  readonly hasBundle: boolean;
  /** Reads for conflicts in a row: see `conflictPauseMs`. */
  readonly conflictReads: number;
}

/** A re-read request: the product must be read by a read that starts later. */
export interface ReadRequest {
  readonly productId: string;
  readonly reason: Reason;
  readonly priority: number;
  /** The rows are under suspicion; false when the read is only wanted, not needed. */
  readonly isSuspect: boolean;
  /** The log position and instant of the latest reason to read the product. */
  readonly madeSeq: number;
  readonly madeAtMs: number;
  /** The oldest reason not yet met: its age is the request's age. */
  readonly firstMadeAtMs: number;
  /** Reading earlier would not meet it. LATEST_MS: waits for the operator (the mass-removal guard). */
  readonly notBeforeMs: number;
}

/** A break in a level's `old` → `new` chain: at least one delivery between the two figures is late or lost. */
export interface Gap {
  readonly variantId: string;
  readonly warehouseId: string;
  readonly openedSeq: number;
  readonly openedAtMs: number;
  readonly dueAtMs: number;
  /** What the mirror held, and what the later change said was there before it. */
  readonly fromQty: number;
  readonly toQty: number;
}

/** One row of the public change feed. `warehouseId` null: a total that no row of its warehouses explains. */
export interface Change {
  readonly seq: number;
  /** The delivery it came with; null for a read. */
  readonly inboxSeq: number | null;
  readonly variantId: string;
  readonly warehouseId: string | null;
  readonly sku: string | null;
  readonly oldQty: number | null;
  readonly newQty: number | null;
  readonly source: Source;
  readonly reason: string | null;
  readonly orderId: string | null;
  readonly userId: string | null;
  readonly updateTimeMs: number | null;
  readonly recordedAtMs: number;
  readonly requestId: string | null;
}

/** What the rules keep beside the tables: one row. */
export interface MirrorState {
  /** The number of the last input applied. */
  readonly appliedSeq: number;
  /** The last row of the inbox applied. */
  readonly inboxSeq: number;
  readonly changeSeq: number;
  readonly storeId: string | null;
  readonly lastDeliveryAtMs: number | null;
  /** Lower bound of (store time − own clock): the maxima of this window and the one before it. */
  readonly offsetWindowStartMs: number;
  readonly offsetFloorMs: number | null;
  readonly offsetFloorPreviousMs: number | null;
  /** Upper bound of the same, from the last answer's Date header. */
  readonly offsetCeilingMs: number | null;
  /** How many changes in a row spoke against the Date header: each came after a read that it claims to be older than. */
  readonly dateContradictions: number;
  /** How late out-of-order changes have lately been. */
  readonly latenessMs: number;
  /** Rows of products not read since this instant may have missed deliveries: the mirror was down before it. */
  readonly trustedAfterMs: number;
  /** A component changed: bundles must be read once `bundlesDueAtMs` has come. Null: nothing to do. */
  readonly bundlesDueAtMs: number | null;
  readonly removalWindowStartMs: number;
  /** Of products, of variants whose product stays, and of levels whose variant stays. */
  readonly removalsInWindow: number;
  readonly variantRemovalsInWindow: number;
  readonly levelRemovalsInWindow: number;
  readonly removalsAllowedUntilMs: number;
}

export const INITIAL_STATE: MirrorState = {
  appliedSeq: 0,
  inboxSeq: 0,
  changeSeq: 0,
  storeId: null,
  lastDeliveryAtMs: null,
  offsetWindowStartMs: 0,
  offsetFloorMs: null,
  offsetFloorPreviousMs: null,
  offsetCeilingMs: null,
  dateContradictions: 0,
  latenessMs: GAP_GRACE_DEFAULT_MS / 2,
  trustedAfterMs: EARLIEST_MS,
  bundlesDueAtMs: null,
  removalWindowStartMs: 0,
  removalsInWindow: 0,
  variantRemovalsInWindow: 0,
  levelRemovalsInWindow: 0,
  removalsAllowedUntilMs: 0,
};
