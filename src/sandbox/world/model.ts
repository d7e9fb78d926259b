export type Kind = 'own' | 'pulled' | 'bundle' | 'assembled';

export interface StockLevel {
  readonly warehouseId: string;
  onHand: number;
  reserved: number;
  /** The last `update_time` of this stock level; the next is never lower while the nodes' clocks agree. */
  stampMs: number;
}

/** Units of another variant in one unit of a bundle or assembled variant. */
export interface Component {
  readonly variant: Variant;
  readonly qty: number;
}

export interface Variant {
  readonly id: string;
  product: Product;
  readonly kind: Kind;
  readonly name: string;
  sku: string | null;
  upc: string | null;
  allowNegativeStock: boolean;
  price: string;
  readonly cost: string | null;
  readonly weight: number;
  readonly createTimeMs: number;
  /** Own and assembled: the store's stock. Pulled: the seller's. Bundle: none. */
  readonly levels: StockLevel[];
  readonly components: readonly Component[];
  readonly pulledFromVariantId: string | null;
  readonly bundledBy: Set<Variant>;
  deleted: boolean;
}

export interface Product {
  readonly id: string;
  readonly kind: Kind;
  name: string;
  readonly description: string;
  readonly createTimeMs: number;
  updateTimeMs: number;
  readonly parentId: string | null;
  readonly hasChild: boolean;
  readonly imageCount: number;
  readonly category: { readonly id: string; readonly name: string; readonly color?: string } | null;
  readonly variants: Variant[];
  deleted: boolean;
}

export function available(level: StockLevel): number {
  return level.onHand - level.reserved;
}

export function totals({ levels }: Variant) {
  const onHand = levels.reduce((sum, level) => sum + level.onHand, 0);
  const reserved = levels.reduce((sum, level) => sum + level.reserved, 0);
  return { onHand, reserved, available: onHand - reserved };
}

/** For a bundle, the units that its scarcest component allows. */
export function sellable(variant: Variant): number {
  if (variant.kind !== 'bundle') return totals(variant).available;
  const units = variant.components.map(({ variant: part, qty }) =>
    part.deleted || part.product.deleted ? 0 : Math.floor(totals(part).available / qty),
  );
  return units.length === 0 ? 0 : Math.min(...units);
}
