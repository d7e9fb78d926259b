/** How long nothing has happened but changes, losses, and what strangers and proxies do. */
export class Undisturbed {
  readonly #nowMs: () => number;
  #sinceMs = Number.NEGATIVE_INFINITY;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Something disturbs the mirror, or has done so until now. @param untilMs at least. */
  note(untilMs = this.#nowMs()): void {
    this.#sinceMs = Math.max(this.#sinceMs, untilMs);
  }

  /** Negative while it is disturbed. */
  get forMs(): number {
    return this.#nowMs() - this.#sinceMs;
  }
}
