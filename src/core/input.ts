/** Inputs of the merge rules. They contain everything the rules need (docs/architecture.md#data-flow). */
import type { VariantKind } from './model.ts';
import type { Reason } from './reasons.ts';
import type { RunKind } from './runs.ts';

/** `updateTimeMs` is store time. */
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

export interface Unreadable {
  /** Position in `data.items`; null if the whole body could not be read. */
  readonly itemIndex: number | null;
  readonly problem: string;
  readonly variantId: string | null;
  /** A whole event of an unknown type, which is probably not about stock. */
  readonly unknownEvent?: true;
}

interface InputBase {
  /** The mirror's clock: a delivery's arrival, or an answer's receipt. */
  readonly atMs: number;
}

export interface DeliveryInput extends InputBase {
  readonly kind: 'delivery';
  readonly inboxSeq: number;
  /** `stock-mirror send` sent it: it shows nothing about the store's webhooks. */
  readonly isTest: boolean;
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
  /** Store time; null if the store does not say. */
  readonly createTimeMs: number | null;
  readonly availableQty: number;
  readonly onHand: number | null;
  readonly reservedQty: number | null;
  readonly allowNegativeStock: boolean;
  readonly priceJson: string | null;
  readonly cost: string | null;
  readonly bundledByCount: number;
  /** null if omitted, which does not mean none. */
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

/** One product/detail answer. `snapshot` is null for 404 not_found. */
export interface ReadInput extends InputBase {
  readonly kind: 'read';
  readonly productId: string;
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** The `Date` header, store time; null if absent or unreadable. */
  readonly serverDateMs: number | null;
  readonly requestId: string | null;
  readonly snapshot: ProductSnapshot | null;
  /** Claims of refused requests about its variants. */
  readonly claims: readonly Claim[];
}

/** A quantity that a refused request names. Anyone can send one: it counts only if a read confirms it. */
export interface Claim {
  readonly variantId: string;
  readonly warehouseId: string;
  readonly newQty: number;
}

/** A page of the catalogue's list names these products. */
export interface ListedInput extends InputBase {
  readonly kind: 'listed';
  readonly sentAtMs: number;
  readonly productIds: readonly string[];
  readonly lookup: boolean;
}

/** A list of the whole catalogue that began at `sentAtMs` has ended, and each of its pages was applied. */
export interface ListCompletedInput extends InputBase {
  readonly kind: 'list_completed';
  readonly sentAtMs: number;
}

export interface ReadRequestInput extends InputBase {
  readonly kind: 'request_reads';
  readonly reason: Reason;
  readonly productIds: readonly string[];
  readonly variantIds: readonly string[];
}

/** `state.bundlesDueAtMs` has passed. */
interface BundlesDueInput extends InputBase {
  readonly kind: 'bundles_due';
}

/** No webhook has arrived in the grace of an untold change. */
interface UntoldDueInput extends InputBase {
  readonly kind: 'untold_due';
}

/** The webhook secrets of this start, as fingerprints. */
interface SecretsInput extends InputBase {
  readonly kind: 'secrets';
  readonly fingerprints: readonly string[];
}

/** Why deliveries may be missing from the inbox. */
export const MISSED_WHYS = [
  'first_start',
  'port_closed',
  'killed',
  'stood_still',
  'unserved',
  'not_stored',
  'stream_gap',
] as const;
export type MissedWhy = (typeof MISSED_WHYS)[number];

/** Deliveries may be missing that were sent between `sinceMs` and `untilMs`. */
export interface Missed {
  readonly why: MissedWhy;
  /** Epoch ms, wall clock; null if unknown. */
  readonly sinceMs: number | null;
  /** Epoch ms, wall clock. */
  readonly untilMs: number;
  /** The variants that the missing deliveries named; null if unknown, so that it may be any. */
  readonly variantIds: readonly string[] | null;
}

export interface MissedInput extends InputBase, Missed {
  readonly kind: 'missed';
}

/** A complete list that began at `sentAtMs` or later, and reads of every product since then, did not show these variants. */
export interface LookupMissedInput extends InputBase {
  readonly kind: 'lookup_missed';
  readonly sentAtMs: number;
  readonly variantIds: readonly string[];
}

/** An operator's, about removals that the mass-removal guard holds. */
export interface RemovalDecision {
  readonly by: string;
  readonly reason: string;
}

/** The operator allows the removal of everything that the store no longer shows of these products. */
export interface AllowRemovalsInput extends InputBase, RemovalDecision {
  readonly kind: 'allow_removals';
  /** null for all that are held. */
  readonly productIds: readonly string[] | null;
  /** The run that was ordered with the decision. */
  readonly runId: number;
}

/** A scan of the whole catalogue, or reads of named products. */
export interface RunBegunInput extends InputBase {
  readonly kind: 'run_begun';
  readonly run: RunKind;
  readonly readAfterMs: number;
  readonly total: number;
  readonly productIds: readonly string[] | null;
}

interface RunEndedInput extends InputBase {
  readonly kind: 'run_ended';
  readonly runId: number;
  /** Identifies the run together with its id, which another run may have in a new file. */
  readonly startedAtMs: number;
  readonly error: string | null;
  readonly fullSync: boolean;
}

export interface ReadFailure {
  readonly productId: string;
  /** In a row, or since an operator or a schedule last requested the read. */
  readonly attempts: number;
  /** Failures, this one and earlier, while the store answered other requests. */
  readonly faults: number;
  readonly retryAtMs: number;
  /** How urgently the read is repeated if nothing else asks for it. */
  readonly priority: number;
  /** No run waits for it. */
  readonly isGivenUp: boolean;
  /** Refused by the store: not retried until a schedule or an operator requests it. */
  readonly parked: boolean;
  readonly error: string;
}

export type Input =
  | DeliveryInput
  | ReadInput
  | ListedInput
  | ListCompletedInput
  | ReadRequestInput
  | BundlesDueInput
  | UntoldDueInput
  | SecretsInput
  | MissedInput
  | LookupMissedInput
  | AllowRemovalsInput
  | RunBegunInput
  | RunEndedInput;
