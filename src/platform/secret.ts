/**
 * A value that must not be printed. Logging, inspecting or serialising it does not show it, so a configuration object can
 * be passed to a logger safely. Only `reveal()` gives the value, which makes each use easy to find. The value does not
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
