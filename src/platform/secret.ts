/**
 * A value that logging, inspecting and serialising do not show. `reveal()` makes each use easy to find. It does not
 * survive `structuredClone` or `postMessage`: reveal it before passing it to a worker.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toJSON(): string {
    return '[secret]';
  }
}
