/** What an input did, for logs, counters and people. The tables do not depend on it. */
import type { ChangeBranch } from '../merge/change-outcome.ts';
import type { LevelBranch } from '../merge/merge-read.ts';
import type { DriftCause } from '../causes.ts';
import type { Gap } from '../model.ts';
import type { Reason } from '../reasons.ts';
import type { Run } from '../runs.ts';

/** What a read may no longer show. */
export const REMOVABLES = ['product', 'variant', 'level'] as const;
type Removable = (typeof REMOVABLES)[number];

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
  | { readonly kind: 'read_requested'; readonly productId: string; readonly reason: Reason }
  | { readonly kind: 'met'; readonly productId: string; readonly reason: Reason; readonly ageMs: number }
  /** Deliveries may be lost, about unknown products. */
  | { readonly kind: 'loss_suspected' }
  | { readonly kind: 'unmapped'; readonly variantId: string }
  | { readonly kind: 'dead_letter'; readonly variantId: string | null; readonly problem: string }
  | {
      readonly kind: 'missing' | 'removed' | 'contested';
      readonly what: Removable;
      readonly id: string;
    }
  | {
      readonly kind: 'removals_held';
      readonly what: Removable;
      readonly productId: string;
      /** How many of the kind are missing, counted as far as it matters. */
      readonly missing: number;
    }
  /** A variant is shown by another product than before. */
  | {
      readonly kind: 'moved';
      readonly variantId: string;
      readonly fromProductId: string;
      readonly toProductId: string;
    }
  | { readonly kind: 'not_found'; readonly productId: string }
  | { readonly kind: 'clock_contradiction' }
  /** Changes have shown the Date of the answers to be wrong, or it agrees with them again. */
  | { readonly kind: 'date'; readonly isDropped: boolean }
  /** The run as it is recorded. */
  | { readonly kind: 'run_begun'; readonly run: Run }
  | { readonly kind: 'wrong_store'; readonly expected: string; readonly found: string };
