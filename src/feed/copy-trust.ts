import type { TrustAnswer } from './answers.ts';
import type { RowKey, SellableRow, Trust, UntrustedRow } from './model.ts';
import { keyOf, toKey } from './row-key.ts';

interface LaterRow {
  readonly row: SellableRow;
  /** Epoch ms, mirror's clock. */
  readonly asOfMs: number;
}

/** The mirror's trust as it holds for the copy: a row that was read later keeps what it said when it was read. */
export class CopyTrust {
  /** It was received, and the copy may lack changes that it is about. */
  #waiting: TrustAnswer | null = null;
  readonly #later = new Map<string, LaterRow>();

  received(trust: TrustAnswer): void {
    this.#waiting = trust;
  }

  /** The trust of a connection that was lost may be old. */
  lost(): void {
    this.#waiting = null;
  }

  /** @param asOfMs the time of the answer that these rows are from. */
  copied(rows: readonly SellableRow[], removed: readonly RowKey[], asOfMs: number): void {
    for (const row of rows) this.#later.set(keyOf(row), { row, asOfMs });
    for (const row of removed) this.#later.delete(keyOf(row));
  }

  /** @returns the trust of a copy with the changes up to `seq`; null if none is new, or the copy lacks changes. */
  take(seq: number): Trust | null {
    if (this.#waiting === null || seq < this.#waiting.last_seq) return null;
    const { last_seq: _, ...trust } = this.#waiting;
    this.#waiting = null;
    for (const [key, { asOfMs }] of this.#later) {
      if (asOfMs <= trust.as_of) this.#later.delete(key);
    }
    if (trust.untrusted === null) return trust;
    const untrusted: UntrustedRow[] = trust.untrusted.filter((row) => !this.#later.has(keyOf(row)));
    for (const { row } of this.#later.values()) {
      if (row.why_not !== null) untrusted.push({ ...toKey(row), why_not: row.why_not });
    }
    return { ...trust, untrusted, untrusted_count: untrusted.length };
  }
}
