/** Facts: the effects of an input, for logs and counters. The tables do not depend on them. */
import type { ChangeBranch } from '../merge/change-outcome.ts';
import type { LevelBranch } from '../merge/merge-read.ts';
import type { DriftReason } from '../drift-reasons.ts';
import type { Gap } from '../model.ts';
import type { Reason } from '../reasons.ts';
import type { Run } from '../runs.ts';

export type Removable = 'product' | 'variant' | 'level';

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
  /** A read answered the gap: the delivery is lost, or very late. */
  | { readonly kind: 'gap_proved'; readonly gap: Gap; readonly productId: string }
  | {
      readonly kind: 'drift';
      readonly reason: DriftReason;
      readonly productId: string;
      readonly variantId: string;
      readonly warehouseId: string | null;
      readonly oldQty: number;
      readonly newQty: number;
    }
  /** A read showed `values` of the product: totals of variants, and quantities of warehouses. */
  | {
      readonly kind: 'compared';
      readonly productId: string;
      readonly values: number;
      /** When its previous read was sent. */
      readonly lastReadAtMs: number;
    }
  | { readonly kind: 'read_requested'; readonly productId: string; readonly reason: Reason }
  | { readonly kind: 'met'; readonly productId: string; readonly reason: Reason; readonly ageMs: number }
  /** Deliveries about unknown products may be lost. */
  | { readonly kind: 'loss_suspected' }
  | { readonly kind: 'dead_letter'; readonly variantId: string | null; readonly problem: string }
  | { readonly kind: 'missing' | 'contested'; readonly what: Removable; readonly id: string }
  /** `quantities` of a variant are those of its levels; of a product, those of its variants are reported with them. */
  | {
      readonly kind: 'removed';
      readonly what: Removable;
      readonly id: string;
      readonly quantities: number;
    }
  /** An operator allowed the removal of the rows of these products that reads no longer show. */
  | {
      readonly kind: 'removals_allowed';
      readonly atMs: number;
      readonly productIds: readonly string[];
      readonly by: string;
      readonly reason: string;
    }
  /** `missing` quantities are missing at least. */
  | { readonly kind: 'removals_held'; readonly productId: string; readonly missing: number }
  | {
      readonly kind: 'moved';
      readonly variantId: string;
      readonly fromProductId: string;
      readonly toProductId: string;
    }
  | { readonly kind: 'not_found'; readonly productId: string }
  /** The rules rejected an input that they must accept (applier.ts). */
  | { readonly kind: 'defect'; readonly problem: string }
  | { readonly kind: 'clock_contradiction' }
  /** Changes contradicted the `Date` header, or it agrees with them again. */
  | { readonly kind: 'date'; readonly isDropped: boolean }
  | { readonly kind: 'run_begun'; readonly run: Run }
  | { readonly kind: 'wrong_store'; readonly expected: string; readonly found: string };
