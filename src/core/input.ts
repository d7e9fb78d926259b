/** The inputs: everything the rules need travels in them (docs/architecture.md#data-flow). */
import type { VariantKind } from './model.ts';
import type { Reason } from './reasons.ts';
import type { RunKind } from './runs.ts';

/** One item of a delivery, understood. `updateTimeMs` is in the service's clock. */
export interface StockChange {
  readonly variantId: string;
  readonly warehouseId: string;
  readonly sku: string | null;
  readonly old: number;
  readonly new: number;
  readonly updateTimeMs: number;
  readonly reason: string | null;
  readonly orderId: string | null;
  readonly userId: string | null;
}

/** Something authentic that was not understood. `variantId` when at least that much could be read. */
export interface Unreadable {
  /** Position in `data.items`; null when the body as a whole could not be read. */
  readonly itemIndex: number | null;
  readonly problem: string;
  readonly variantId: string | null;
  /** A whole event of a type that this program does not know: it may be about anything, and most likely not stock. */
  readonly unknownEvent?: true;
}

interface InputBase {
  /** Position in the log: gapless, in commit order. */
  readonly seq: number;
  /** Own clock: a delivery's arrival, an answer's receipt, an order's instant. */
  readonly atMs: number;
}

export interface DeliveryInput extends InputBase {
  readonly kind: 'delivery';
  /** Its row in the inbox. */
  readonly inboxSeq: number;
  readonly requestId: string | null;
  readonly changes: readonly StockChange[];
  readonly unreadable: readonly Unreadable[];
}

export interface LevelSnapshot {
  readonly warehouseId: string;
  readonly availableQty: number;
  readonly onHand: number;
  readonly reservedQty: number;
}

export interface VariantSnapshot {
  readonly variantId: string;
  readonly name: string;
  readonly sku: string | null;
  readonly upc: string | null;
  readonly kind: VariantKind;
  readonly availableQty: number;
  readonly onHand: number | null;
  readonly reservedQty: number | null;
  readonly allowNegativeStock: boolean;
  readonly priceJson: string | null;
  readonly cost: string | null;
  readonly bundledByCount: number;
  /** null: omitted, which never means none. */
  readonly levels: readonly LevelSnapshot[] | null;
}

export interface ProductSnapshot {
  readonly storeId: string;
  readonly name: string;
  readonly parentId: string | null;
  readonly updateTimeMs: number | null;
  readonly detailJson: string;
  readonly variants: readonly VariantSnapshot[];
}

/** One product/detail answer. `snapshot` null: the service answered 404 not_found. */
export interface ReadInput extends InputBase {
  readonly kind: 'read';
  readonly productId: string;
  /** Last log position known when the request was sent. */
  readonly s0: number;
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** The answer's Date header, service's clock; null when absent or unreadable. */
  readonly serverDateMs: number | null;
  readonly requestId: string | null;
  readonly snapshot: ProductSnapshot | null;
}

/** Products that a catalogue list showed. */
export interface ListedInput extends InputBase {
  readonly kind: 'listed';
  readonly productIds: readonly string[];
  /** A variant of unknown product waits for this list. */
  readonly lookup: boolean;
}

/** Products, or whatever products these variants belong to, must be read again. */
export interface ReadRequestInput extends InputBase {
  readonly kind: 'request_reads';
  readonly reason: Reason;
  readonly productIds: readonly string[];
  readonly variantIds: readonly string[];
}

/** `bundles`: `state.bundlesDueAtMs` has come. `loss`: deliveries of unknown content were turned away. */
export interface DueInput extends InputBase {
  readonly kind: 'due';
  readonly what: 'bundles' | 'loss';
}

/** Nobody listened before `atMs`: what was not read since may have missed deliveries. */
export interface DowntimeInput extends InputBase {
  readonly kind: 'downtime';
  readonly downSinceMs: number | null;
}

/** A scan of the whole catalogue that started at log position `s0` did not find these variants. */
export interface LookupMissedInput extends InputBase {
  readonly kind: 'lookup_missed';
  readonly s0: number;
  readonly sentAtMs: number;
  readonly variantIds: readonly string[];
}

/** The operator lets the mass-removal guard go until `untilMs`. */
interface AllowRemovalsInput extends InputBase {
  readonly kind: 'allow_removals';
  readonly untilMs: number;
}

/** A scan of the whole catalogue, or reads of named products. Its `seq` identifies the run. */
export interface RunBegunInput extends InputBase {
  readonly kind: 'run_begun';
  readonly run: RunKind;
  readonly readAfterMs: number;
  /** Products that it is expected to read. */
  readonly total: number;
  /** Null: the whole catalogue. */
  readonly productIds: readonly string[] | null;
}

export interface RunEndedInput extends InputBase {
  readonly kind: 'run_ended';
  /** Of its `run_begun`. */
  readonly startedSeq: number;
  /** Null: it is done. */
  readonly error: string | null;
  /** The catalogue was read whole. */
  readonly fullSync: boolean;
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  readonly drift: number;
}

/** A read that failed, and what follows from that. */
export interface ReadFailure {
  readonly productId: string;
  /** In a row, or since the read was last asked for anew. */
  readonly attempts: number;
  /** Of these and earlier ones: those that came although the store had answered something since the one before. */
  readonly faults: number;
  readonly nextAtMs: number;
  /** Refused: not before a schedule or an operator asks for it. */
  readonly parked: boolean;
  readonly error: string;
}

/** The store refuses to show the product, or its reads keep failing. It stays so until a read of it succeeds. */
export interface GivenUpInput extends InputBase, ReadFailure {
  readonly kind: 'given_up';
}

export type Input =
  | DeliveryInput
  | ReadInput
  | ListedInput
  | ReadRequestInput
  | DueInput
  | DowntimeInput
  | LookupMissedInput
  | AllowRemovalsInput
  | RunBegunInput
  | RunEndedInput
  | GivenUpInput;
