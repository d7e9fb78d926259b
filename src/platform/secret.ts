/**
 * A value that must not be printed. Logging, interpolating, inspecting or serialising it gives `[secret]`, so a
 * configuration object can be passed to a logger safely. Only `reveal()` gives the value, which makes each use easy
 * to find. The value does not survive `structuredClone` or `postMessage`: reveal it before passing it to a worker.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  /** What `util.inspect` and `console.log` call; named by its registered symbol so that nothing is imported. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[secret]';
  }
}
