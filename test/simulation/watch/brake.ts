/**
 * Most of a catalogue does not go at once, unless an operator allows it
 * (docs/architecture.md#mass-removal-guard).
 */
import { BRAKE_PRODUCTS, BRAKE_SHARE, BRAKE_WINDOW_MS } from '../../../src/core/limits.ts';
import { prepared } from '../../../src/store/prepared.ts';
import type { Db } from '../../../src/store/open.ts';

export class Brake {
  readonly #fault: (what: string) => void;
  readonly #nowMs: () => number;
  #removedAtMs: number[] = [];
  #isAllowed = false;

  constructor(fault: (what: string) => void, nowMs: () => number) {
    this.#fault = fault;
    this.#nowMs = nowMs;
  }

  /** The operator's word. */
  allow(): void {
    this.#isAllowed = true;
  }

  /** An old copy came back: what it had not removed yet goes again. */
  restore(): void {
    this.#removedAtMs = [];
  }

  /** A product that the mirror held went. */
  removed(db: Db): void {
    const sinceMs = this.#nowMs() - BRAKE_WINDOW_MS / 2;
    this.#removedAtMs = [...this.#removedAtMs.filter((atMs) => atMs > sinceMs), this.#nowMs()];
    if (this.#isAllowed) return;
    const count = this.#removedAtMs.length;
    const live =
      prepared<[], number>(db, 'SELECT count(*) FROM products WHERE gone_at_ms IS NULL').pluck().get() ?? 0;
    if (count > BRAKE_PRODUCTS && count > (live + count) * BRAKE_SHARE) {
      this.#fault(`${count} products of ${live + count} were removed and nobody allowed it`);
    }
    if (live === 0 && count > 1) this.#fault(`all ${count} products were removed and nobody allowed it`);
  }
}
