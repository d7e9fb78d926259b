/** A value that logging, inspecting and serialising do not show. `postMessage` loses it: reveal it before. */
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
