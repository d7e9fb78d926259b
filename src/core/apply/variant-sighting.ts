import type { VariantSnapshot } from '../input.ts';
import type { Product } from '../model.ts';
import type { RemovalGuard } from './removal-guard.ts';

export interface VariantSighting {
  readonly variant: VariantSnapshot;
  readonly product: Product;
  readonly requestId: string | null;
  readonly guard: RemovalGuard;
  /** The product's name changed, which the rows of its variants show. */
  readonly renamed: boolean;
  readonly inDowntime: boolean;
  /** A contradiction was known before the read. */
  readonly inConflict: boolean;
}
