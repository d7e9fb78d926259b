import type { ProductListRequest } from '../../store-api/contract/schemas.ts';
import { compareIds } from './ids.ts';
import type { Product } from './model.ts';
import type { Truth } from './truth.ts';

type SortBy = NonNullable<ProductListRequest['sort_by']>;

interface Page {
  readonly products: Product[];
  readonly total: number;
  readonly hasMore: boolean;
}

const compare: Readonly<Record<SortBy, (a: Product, b: Product) => number>> = {
  id: (a, b) => compareIds(a.id, b.id),
  name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  create_time: (a, b) => a.createTimeMs - b.createTimeMs,
  update_time: (a, b) => a.updateTimeMs - b.updateTimeMs,
};

/**
 * Pages of `/v1/product/list`. Each sorted list is kept until the catalogue changes, so that reading every page of
 * 100,000 products sorts once, not a thousand times.
 */
export class Listing {
  readonly #truth: Truth;
  readonly #sorted = new Map<SortBy, readonly Product[]>();
  #revision = -1;

  constructor(truth: Truth) {
    this.#truth = truth;
  }

  page(request: ProductListRequest): Page {
    const { limit = 20, offset = 0, sort_by: sortBy = 'update_time', sort_order: order = 'desc' } = request;
    const query = (request.query ?? '').toLowerCase();
    const sorted = this.#sortedBy(sortBy);
    const all = query === '' ? sorted : sorted.filter(({ name }) => name.toLowerCase().includes(query));
    const end = offset + limit;
    const products =
      order === 'asc'
        ? all.slice(offset, end)
        : all.slice(Math.max(0, all.length - end), Math.max(0, all.length - offset)).reverse();
    return { products, total: all.length, hasMore: end < all.length };
  }

  #sortedBy(sortBy: SortBy): readonly Product[] {
    if (this.#revision !== this.#truth.listRevision) {
      this.#sorted.clear();
      this.#revision = this.#truth.listRevision;
    }
    const sorted =
      this.#sorted.get(sortBy) ??
      this.#truth.products
        .filter((product) => !product.deleted)
        // Equal keys are ordered by id, so that pages never overlap by chance.
        .sort((a, b) => compare[sortBy](a, b) || compareIds(a.id, b.id));
    this.#sorted.set(sortBy, sorted);
    return sorted;
  }
}
