/** A list that says for ever that there is more, and shows the same products, must not be walked for ever. */

/** So many pages on end without a product that the page before did not show are no shift of the list. */
const MAX_REPEATS = 10;

export class EndlessList {
  #shown: ReadonlySet<string>;
  #repeats = 0;

  /** @param shown of the page before the first, as far as they are known. */
  constructor(shown: Iterable<string> = []) {
    this.#shown = new Set(shown);
  }

  /** To be told of each page that has one after it. @throws Error when it has no end. */
  note(ids: readonly string[]): void {
    this.#repeats = ids.every((id) => this.#shown.has(id)) ? this.#repeats + 1 : 0;
    this.#shown = new Set(ids);
    if (this.#repeats > MAX_REPEATS)
      throw new Error(
        'the catalogue list has no end, only the same products again: report it to the service',
      );
  }
}
