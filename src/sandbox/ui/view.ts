import type { Variant } from '../world/model.ts';

/** The part of the catalogue that the page shows; kept in the address, so that forms return to it. */
export interface View {
  readonly query: string;
  /** From 1. */
  readonly page: number;
  /** The variant in the order form. */
  readonly orderVariantId: string | null;
}

export function readView(params: URLSearchParams): View {
  const page = Number(params.get('page') ?? 1);
  return {
    query: params.get('q')?.trim() ?? '',
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    orderVariantId: params.get('order'),
  };
}

/** The address of a path with this view and further parameters. */
export function addressOf(path: string, view: View, more: Readonly<Record<string, string>> = {}): string {
  const params = new URLSearchParams();
  if (view.query !== '') params.set('q', view.query);
  if (view.page > 1) params.set('page', String(view.page));
  for (const [name, value] of Object.entries(more)) params.set(name, value);
  return params.size === 0 ? path : `${path}?${params.toString()}`;
}

/** The fields of a refused form, to show it again. */
export interface Refused {
  readonly action: string;
  readonly form: URLSearchParams;
  readonly message: string;
}

/** What people call it: its SKU if it has one. */
export function labelOf(variant: Variant): string {
  return variant.sku ?? `variant ${variant.id}`;
}

export function rowId(variantId: string, warehouseId: string): string {
  return `stock-${variantId}-${warehouseId}`;
}

/** The page of the mirror that shows the variant. */
export function mirrorRow(mirrorUrl: string, variantId: string): string {
  return new URL(`variants/${encodeURIComponent(variantId)}`, `${mirrorUrl.replace(/\/+$/, '')}/`).href;
}
