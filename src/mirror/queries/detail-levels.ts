/** What a product's detail says about one variant's stock. */
import { productDetailSchema } from '../../store-api/contract/schemas.ts';
import { snapshotOf } from '../../store-api/snapshot.ts';

export interface DetailLevel {
  /** Null: the variant's total. */
  readonly warehouseId: string | null;
  readonly qty: number;
  readonly onHand: number | null;
  readonly reservedQty: number | null;
}

/** The total, then each warehouse that the detail has; null when the detail does not show the variant. */
export function detailLevelsOf(detailJson: string, variantId: string): DetailLevel[] | null {
  const { variants } = snapshotOf(productDetailSchema.parse(JSON.parse(detailJson)), detailJson);
  const variant = variants.find((each) => each.variantId === variantId);
  if (variant === undefined) return null;
  const { availableQty, onHand, reservedQty, levels } = variant;
  return [
    { warehouseId: null, qty: availableQty, onHand, reservedQty },
    ...(levels ?? []).map((level) => ({ ...level, qty: level.availableQty })),
  ];
}
