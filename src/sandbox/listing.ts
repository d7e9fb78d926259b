import type { ProductListRequest } from '../service/schemas.ts';
import { compareIds } from './ids.ts';
import type { Product } from './model.ts';
import type { Truth } from './truth.ts';

type SortBy = NonNullable<ProductListRequest['sort_by']>;

export type Page = { products: Product[]; total: number; hasMore: boolean };
export type Listing = { page(request: ProductListRequest): Page };

/** How many searches are kept at once; a catalogue scan uses one. */
const KEPT_SEARCHES = 16;

const compare: Record<SortBy, (a: Product, b: Product) => number> = {
  id: (a, b) => compareIds(a.id, b.id),
  name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  create_time: (a, b) => a.createTimeMs - b.createTimeMs,
  update_time: (a, b) => a.updateTimeMs - b.updateTimeMs,
};

/**
 * Pages of `/v1/product/list`. The sorted list is kept until the catalogue changes, so that reading every page of
 * 100,000 products sorts once, not a thousand times.
 */
export function createListing(truth: Truth): Listing {
  const kept = new Map<string, Product[]>();
  let revision = -1;

  const sorted = (sortBy: SortBy, query: string): Product[] => {
    if (revision !== truth.listRevision) {
      kept.clear();
      revision = truth.listRevision;
    }
    const key = `${sortBy} ${query}`;
    const found = kept.get(key);
    if (found !== undefined) return found;

    const products =
      query === ''
        ? truth.products.filter((product) => !product.deleted)
        : sorted(sortBy, '').filter((product) => product.name.toLowerCase().includes(query));
    // Equal keys are ordered by id, so that pages never overlap by chance.
    if (query === '') products.sort((a, b) => compare[sortBy](a, b) || compareIds(a.id, b.id));
    if (kept.size >= KEPT_SEARCHES) kept.delete(kept.keys().next().value!);
    kept.set(key, products);
    return products;
  };

  return {
    page: (request) => {
      const { limit = 20, offset = 0, sort_by: sortBy = 'update_time', sort_order: order = 'desc' } = request;
      const all = sorted(sortBy, (request.query ?? '').toLowerCase());
      const end = offset + limit;
      const products =
        order === 'asc'
          ? all.slice(offset, end)
          : all.slice(Math.max(0, all.length - end), Math.max(0, all.length - offset)).reverse();
      return { products, total: all.length, hasMore: end < all.length };
    },
  };
}
