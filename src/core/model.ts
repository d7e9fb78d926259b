/** The mirror's nouns. Instants are epoch ms of the mirror's clock, unless the comment says "store time". */

import type { Reason } from './reasons.ts';

export const SOURCES = ['webhook', 'read'] as const;
export type Source = (typeof SOURCES)[number];

export const VARIANT_KINDS = ['own', 'pulled', 'bundle', 'assembled'] as const;
export type VariantKind = (typeof VARIANT_KINDS)[number];

export interface StockLevel {
  readonly variantId: string;
  readonly warehouseId: string;
  readonly qty: number;
  readonly source: Source;
  /** When the value was true: the change's update time (store time), or when the read was sent. */
  readonly asOfMs: number;
  /** Highest update time seen, store time; EARLIEST_MS before the first change. Never decreases. */
  readonly eventTimeMs: number;
  /** The `old` of the earliest change known at `eventTimeMs`. */
  readonly eventOld: number;
  /** Number of changes known at exactly `eventTimeMs`. */
  readonly eventCount: number;
  /** Arrival of the last delivery that touched the level; EARLIEST_MS if none did. */
  readonly eventAtMs: number;
  /**
   * Store time: the latest read saw every change before
   * `readLoMs`, none after `readHiMs`; EARLIEST_MS before one.
   */
  readonly readLoMs: number;
  readonly readHiMs: number;
  /** When the read that set `readLoMs` was sent; EARLIEST_MS before one. */
  readonly readAtMs: number;
  /** When the last read that confirmed the value was sent; on a tombstone, the last read that showed it. */
  readonly verifiedAtMs: number | null;
  readonly onHand: number | null;
  readonly reservedQty: number | null;
  readonly onHandAsOfMs: number | null;
  /** Pending removal: when the first read without the level was sent; null while it is shown. */
  readonly missingAtMs: number | null;
  readonly goneAtMs: number | null;
  readonly changeSeq: number;
}

export interface Variant {
  readonly variantId: string;
  /** null until a read has shown the product. */
  readonly productId: string | null;
  readonly sku: string | null;
  readonly upc: string | null;
  readonly name: string;
  readonly kind: VariantKind;
  /** Sellable total; null until a read has shown it. */
  readonly availableQty: number | null;
  readonly onHand: number | null;
  readonly reservedQty: number | null;
  readonly allowNegativeStock: boolean;
  readonly priceJson: string | null;
  readonly cost: string | null;
  readonly bundledByCount: number;
  readonly asOfMs: number;
  readonly verifiedAtMs: number | null;
  /**
   * Store time: the high watermark of the latest read if it
   * showed the total but not every level; else EARLIEST_MS.
   */
  readonly totalHiMs: number;
  /**
   * Latest arrival of a delivery that touched the variant or a level of it. It never falls, also when the
   * clock steps back: a read that may have missed a delivery of a level may have missed it in the total.
   */
  readonly eventAtMs: number;
  readonly missingAtMs: number | null;
  readonly goneAtMs: number | null;
  /** When to search the catalogue for the variant's unknown product; null if not needed. */
  readonly lookupAtMs: number | null;
  readonly changeSeq: number;
}

export interface Product {
  readonly productId: string;
  readonly name: string | null;
  readonly parentId: string | null;
  /** Store time. */
  readonly updateTimeMs: number | null;
  /** The last detail as received; null before the first read. */
  readonly detailJson: string | null;
  /** Sending time of the latest read merged; EARLIEST_MS before the first. */
  readonly readAtMs: number;
  /**
   * Latest receipt of any answer merged: a read sent less than a
   * replica's lag after it may show an older state.
   */
  readonly readUntilMs: number;
  readonly missingAtMs: number | null;
  readonly goneAtMs: number | null;
  readonly hasBundle: boolean;
  readonly conflictReads: number;
  /** The operator who has decided that what reads no longer show of it is gone; null once that is carried out. */
  readonly removalAllowedBy: string | null;
}

export interface ReadRequest {
  readonly productId: string;
  readonly reason: Reason;
  readonly priority: number;
  /** The rows may be wrong; otherwise the read is wanted, not needed. */
  readonly isSuspect: boolean;
  /** Instant of the latest reason. */
  readonly madeAtMs: number;
  /** Instant of the oldest unmet reason: the request's age. */
  readonly firstMadeAtMs: number;
  /** An earlier read would not meet the request. HELD_MS if the mass-removal guard holds it. */
  readonly notBeforeMs: number;
}

/**
 * `loss`: a break in a level's `old` → `new` chain, so at least one delivery between the two values is late or lost.
 * `order`: a read and a change came so close together that either may be the newer. A level has at most one, and
 * its next change after the read ends it.
 */
export const GAP_KINDS = ['loss', 'order'] as const;
export type GapKind = (typeof GAP_KINDS)[number];

export interface Gap {
  readonly variantId: string;
  readonly warehouseId: string;
  /** The delivery with the later change. */
  readonly inboxSeq: number;
  readonly kind: GapKind;
  readonly openedAtMs: number;
  /** Until then, a delivery may end it; then a read does. */
  readonly dueAtMs: number;
  /** `loss`: the value in the mirror, and the `old` of the later change. `order`: the two values. */
  readonly fromQty: number;
  readonly toQty: number;
}

/**
 * One row of the change feed. `warehouseId` is null for a
 * change of the total that no warehouse's row explains.
 */
export interface Change {
  readonly seq: number;
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

export const WAYS_IN = ['proven', 'unproven', 'missing'] as const;

/** A quantity that a read has shown, although no webhook reported the change. */
export interface UntoldChange {
  readonly variantId: string;
  /** null for the variant's total. */
  readonly warehouseId: string | null;
  readonly oldQty: number;
  readonly newQty: number;
  /** Receipt of the answer that showed it. */
  readonly shownAtMs: number;
}

/** Whether the store's webhooks reach this mirror (merge/way-in.ts). */
export interface WayIn {
  /**
   * - `proven`: a webhook was accepted, and nothing has shown since then that others are missing.
   * - `unproven`: none was accepted since the first start, or since the secret changed.
   * - `missing`: a change was made after the last webhook, and no webhook reported it.
   */
  readonly wayIn: (typeof WAYS_IN)[number];
  readonly wayInSinceMs: number;
  /** Arrival of the store's last webhook; null before the first. */
  readonly lastWebhookAtMs: number | null;
  /** Mean time between webhooks. */
  readonly meanGapMs: number;
  /** The earliest untold change since the last webhook. It counts once its grace is over. */
  readonly untold: UntoldChange | null;
  /** Fingerprints of the webhook secrets that count; empty before the first start. */
  readonly secrets: readonly string[];
}

/** The only row of `mirror_state`: the rules' facts about the whole mirror. */
export interface MirrorStateRow extends WayIn {
  /** Inputs applied so far. */
  readonly appliedSeq: number;
  /** The last row of the inbox that was applied. */
  readonly inboxSeq: number;
  /** The last number in the change feed. */
  readonly changeSeq: number;
  readonly storeId: string | null;
  readonly lastDeliveryAtMs: number | null;
  /** Arrival of the last body that made everything suspect, because it was not understood and named no variant. */
  readonly unreadableAtMs: number | null;
  /** Lower bound of store time − mirror time: the maxima of this window and the previous one. */
  readonly offsetWindowStartMs: number;
  readonly offsetFloorMs: number | null;
  readonly offsetFloorPreviousMs: number | null;
  /** Upper bound of store time − mirror time, from the last answer's `Date` header. */
  readonly offsetCeilingMs: number | null;
  /** Store time, after its clock was set back: no change before has a later stamp. */
  readonly stampedUntilMs: number | null;
  /** Changes in a row that contradict the `Date` header, which no longer counts from DATE_CONTRADICTIONS on. */
  readonly dateContradictions: number;
  /** How late changes arrive that come out of order: a gap waits twice as long for one, within its limits. */
  readonly latenessMs: number;
  /** The barrier: a product that was not read since then may have missed deliveries. It never falls. */
  readonly trustedAfterMs: number;
  /** When bundles are to be read because a component changed; null if none changed. */
  readonly bundlesDueAtMs: number | null;
  /** Own clock: no known bundle was made later. Earlier reads may not count it at its components; null without a bundle. */
  readonly bundlesMadeAtMs: number | null;
  /** When the last complete list of the catalogue began; EARLIEST_MS before the first. */
  readonly listedFromMs: number;
  readonly removalWindowStartMs: number;
  /** Quantities that were removed because reads did not show them. */
  readonly removedInWindow: number;
}
