/** A list that always says there is more must not be read for ever. */
import { ServiceError } from '../transport/errors.ts';

/** A list that brings nothing new this many times in a row is not shifting but broken. */
const MAX_PAGES_WITHOUT_NEWS = 10;

export class PageNews {
  readonly #endpoint: string;
  #pagesWithoutNews = 0;

  constructor(endpoint: string) {
    this.#endpoint = endpoint;
  }

  /**
   * To be called for each page that says there is more, with whether it brought anything new.
   *
   * @throws ServiceError of kind `contract` when the list does not come to an end.
   */
  note({ isNew }: { readonly isNew: boolean }): void {
    this.#pagesWithoutNews = isNew ? 0 : this.#pagesWithoutNews + 1;
    if (this.#pagesWithoutNews <= MAX_PAGES_WITHOUT_NEWS) return;
    const description = `${MAX_PAGES_WITHOUT_NEWS} pages in a row say that there is more but bring nothing new`;
    throw new ServiceError({ kind: 'contract', endpoint: this.#endpoint, description });
  }
}
