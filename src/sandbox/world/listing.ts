import type { ProductListRequest } from '../../store-api/contract/schemas.ts';
import { compareIds } from './ids.ts';
import type { Product } from './model.ts';
import type { Truth } from './truth.ts';

export function pageOf<T>(all: readonly T[], { offset, limit }: { offset: number; limit: number }) {
  return { page: all.slice(offset, offset + limit), has_more: offset + limit < all.length };
}

const compare: Readonly<
  Record<NonNullable<ProductListRequest['sort_by']>, (a: Product, b: Product) => number>
> = {
  id: (a, b) => compareIds(a.id, b.id),
  name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  create_time: (a, b) => a.createTimeMs - b.createTimeMs,
  update_time: (a, b) => a.updateTimeMs - b.updateTimeMs,
};

/** Keeps each sorted list until the catalogue changes, so that reading every page sorts once. */
export class Listing {
  readonly #truth: Truth;
  readonly #sorted = new Map<string, readonly Product[]>();
  #revision = -1;

  constructor(truth: Truth) {
    this.#truth = truth;
  }

  products({ sort_by: sortBy = 'update_time', sort_order: order = 'desc', query = '' }: ProductListRequest) {
    if (this.#revision !== this.#truth.listRevision) this.#sorted.clear();
    this.#revision = this.#truth.listRevision;
    const sign = order === 'asc' ? 1 : -1;
    const key = `${sortBy} ${order}`;
    const sorted =
      this.#sorted.get(key) ??
      this.#truth.products
        .filter((product) => !product.deleted)
        .sort((a, b) => sign * (compare[sortBy](a, b) || compareIds(a.id, b.id)));
    this.#sorted.set(key, sorted);
    const lowerQuery = query.toLowerCase();
    return lowerQuery === '' ? sorted : sorted.filter(({ name }) => name.toLowerCase().includes(lowerQuery));
  }
}
