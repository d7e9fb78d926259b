/**
 * Most of a catalogue does not go at once, unless an operator allows it: neither products, nor variants, nor levels
 * (docs/architecture.md#mass-removal-guard).
 */
import { BRAKE_ROWS, BRAKE_SHARE, BRAKE_WINDOW_MS } from '../../../src/core/limits.ts';
import { prepared } from '../../../src/store/prepared.ts';
import type { Db } from '../../../src/store/open.ts';

const TABLES = { product: 'products', variant: 'variants', cell: 'cells' } as const;
type Kind = keyof typeof TABLES;

export class Brake {
  readonly #fault: (what: string) => void;
  readonly #nowMs: () => number;
  #removed: { readonly kind: Kind; readonly atMs: number }[] = [];
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
    this.#removed = [];
  }

  /** A row that the mirror held went, and not with another one. */
  removed(db: Db, kind: Kind): void {
    const nowMs = this.#nowMs();
    const sinceMs = nowMs - BRAKE_WINDOW_MS / 2;
    this.#removed = [...this.#removed.filter(({ atMs }) => atMs > sinceMs), { kind, atMs: nowMs }];
    if (this.#isAllowed) return;
    const count = this.#removed.filter((row) => row.kind === kind).length;
    const table = TABLES[kind];
    const live =
      prepared<[], number>(db, `SELECT count(*) FROM ${table} WHERE gone_at_ms IS NULL`).pluck().get() ?? 0;
    if (count > BRAKE_ROWS && count > (live + count) * BRAKE_SHARE) {
      this.#fault(`${count} ${table} of ${live + count} were removed and nobody allowed it`);
    }
    if (live === 0 && count > 1) this.#fault(`all ${count} ${table} were removed and nobody allowed it`);
  }
}
