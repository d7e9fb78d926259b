import type { Variant } from '../model.ts';

/** Which part of the catalogue the page shows; in its address, so that forms come back to it. */
export type View = {
  readonly query: string;
  /** From 1. */
  readonly page: number;
  /** The variant that the order form is filled in with. */
  readonly orderVariantId: string | null;
};

export function readView(params: URLSearchParams): View {
  const page = Number(params.get('page') ?? 1);
  return {
    query: params.get('q')?.trim() ?? '',
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    orderVariantId: params.get('order'),
  };
}

/** The address of a path with this view, and what else it is to say. */
export function addressOf(path: string, view: View, more: Readonly<Record<string, string>> = {}): string {
  const params = new URLSearchParams();
  if (view.query !== '') params.set('q', view.query);
  if (view.page > 1) params.set('page', String(view.page));
  for (const [name, value] of Object.entries(more)) params.set(name, value);
  return params.size === 0 ? path : `${path}?${params.toString()}`;
}

/** What was posted by a form that is shown again, because it could not be done. */
export type Refused = {
  readonly action: string;
  readonly form: URLSearchParams;
  readonly message: string;
};

/** As people call it: the SKU where there is one. */
export function labelOf(variant: Variant): string {
  return variant.sku ?? `variant ${variant.id}`;
}

export function rowId(variantId: string, warehouseId: string): string {
  return `stock-${variantId}-${warehouseId}`;
}
