import type { Product } from '../world/model.ts';
import type { Truth } from '../world/truth.ts';
import type { View } from './view.ts';

const PRODUCTS_PER_PAGE = 20;

export interface CataloguePage {
  readonly products: readonly Product[];
  /** The number of search results. */
  readonly total: number;
  readonly page: number;
  readonly pages: number;
}

/** Live products in order of creation. A page number beyond the last shows the last page. */
export function cataloguePage(truth: Truth, view: View): CataloguePage {
  const wanted = view.query.toLowerCase();
  const found = truth.products.filter((product) => !product.deleted && matches(product, wanted));
  const pages = Math.max(1, Math.ceil(found.length / PRODUCTS_PER_PAGE));
  const page = Math.min(view.page, pages);
  const start = (page - 1) * PRODUCTS_PER_PAGE;
  return { products: found.slice(start, start + PRODUCTS_PER_PAGE), total: found.length, page, pages };
}

function matches(product: Product, wanted: string): boolean {
  const holds = (text: string | null): boolean => text !== null && text.toLowerCase().includes(wanted);
  return (
    wanted === '' ||
    holds(product.name) ||
    product.id === wanted ||
    product.variants.some(
      (variant) => !variant.deleted && (holds(variant.sku) || holds(variant.name) || variant.id === wanted),
    )
  );
}
