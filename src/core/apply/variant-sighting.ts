/** One variant of a product read, with what is known of the product and of the read it stands in. */
import type { VariantSnapshot } from '../input.ts';
import type { Product } from '../model.ts';
import type { RemovalGuard } from './removal-guard.ts';

export interface VariantSighting {
  readonly variant: VariantSnapshot;
  readonly product: Product;
  readonly requestId: string | null;
  readonly guard: RemovalGuard;
  /** The product's name changed, and with it what its variants' rows show. */
  readonly renamed: boolean;
  /** The product was not read since the last downtime. */
  readonly inDowntime: boolean;
  /** A contradiction was known before the read. */
  readonly inConflict: boolean;
}
