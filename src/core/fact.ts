/** What a fold did, for logs, counters and people. The tables do not depend on it. */
import type { ChangeBranch } from './merge-change.ts';
import type { LevelBranch } from './merge-read.ts';
import type { Gap, Reason } from './model.ts';

/** Probable cause of a difference that a read found. */
export type DriftCause = 'gap' | 'downtime' | 'conflict' | 'lost_tail' | 'derived';

export type Fact =
  | {
      readonly kind: 'change';
      readonly branch: ChangeBranch;
      readonly variantId: string;
      readonly warehouseId: string;
    }
  | {
      readonly kind: 'level';
      readonly branch: LevelBranch;
      readonly variantId: string;
      readonly warehouseId: string;
    }
  | { readonly kind: 'gap_opened'; readonly gap: Gap }
  | { readonly kind: 'gap_closed'; readonly gap: Gap }
  /** A read answered the gap: the delivery is lost, or later than anyone waits. */
  | { readonly kind: 'gap_proved'; readonly gap: Gap; readonly productId: string }
  | {
      readonly kind: 'drift';
      readonly cause: DriftCause;
      readonly productId: string;
      readonly variantId: string;
      /** Null: the variant's total. */
      readonly warehouseId: string | null;
      readonly oldQty: number;
      readonly newQty: number;
    }
  | { readonly kind: 'obliged'; readonly productId: string; readonly reason: Reason }
  | { readonly kind: 'met'; readonly productId: string; readonly reason: Reason; readonly ageMs: number }
  | { readonly kind: 'canary'; readonly products: number }
  | { readonly kind: 'unmapped'; readonly variantId: string }
  | { readonly kind: 'quarantined'; readonly variantId: string | null; readonly problem: string }
  | {
      readonly kind: 'missing' | 'removed' | 'contested';
      readonly what: 'product' | 'variant' | 'cell';
      readonly id: string;
    }
  | { readonly kind: 'brake'; readonly productId: string; readonly missingProducts: number }
  | { readonly kind: 'not_found'; readonly productId: string }
  | { readonly kind: 'clock_contradiction' }
  | { readonly kind: 'wrong_store'; readonly expected: string; readonly found: string };
