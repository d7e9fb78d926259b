/** A copy kept in memory with the feed client. */
import {
  follow,
  type Batch,
  type Position,
  type RowKey,
  type SellableRow,
  type Trust,
} from '../../src/feed.ts';
import type { Owner } from '../process/harness.ts';
import type { Follower, Place, Shown } from './follower.ts';

const keyOf = ({ variant_id: variantId, warehouse_id: warehouseId }: RowKey): string =>
  `${variantId}:${warehouseId ?? ''}`;

export class MemoryCopy implements Follower {
  readonly name = 'feed client';
  readonly age = null;
  problems = '';
  readonly #url: string;
  readonly #rows = new Map<string, SellableRow>();
  #starts = 0;
  #position: Position | null = null;
  #following: { readonly aborting: AbortController; readonly ended: Promise<void> } | null = null;

  constructor(test: Owner, { url }: Place) {
    this.#url = url;
    test.onTestFinished(() => this.kill());
  }

  start(): void {
    const aborting = new AbortController();
    const options = {
      url: this.#url,
      position: this.#position,
      signal: aborting.signal,
      onProblem: ({ message }: Error) => {
        this.problems += `not now: ${message}\n`;
      },
    };
    this.problems = '';
    const ended = (async () => {
      for await (const batch of follow(options)) this.#apply(batch);
    })();
    this.#following = { aborting, ended };
  }

  async kill(): Promise<void> {
    this.#following?.aborting.abort();
    await this.#following?.ended;
  }

  get waits(): boolean {
    return this.problems !== '';
  }

  starts(): number {
    return this.#starts;
  }

  sellable(): Shown[] {
    return [...this.#rows.values()];
  }

  seq(): number {
    return this.#position?.seq ?? 0;
  }

  moveAhead(): void {
    if (this.#position !== null)
      this.#position = { ...this.#position, seq: this.#position.seq + 1_000_000_000 };
  }

  #apply(batch: Batch): void {
    this.#position = batch.position ?? this.#position;
    if (batch.kind === 'trust') {
      this.#setTrust(batch.trust);
      return;
    }
    if (batch.kind === 'snapshot' && batch.isFirst) {
      this.#starts += 1;
      this.#rows.clear();
    }
    for (const key of batch.removed) this.#rows.delete(keyOf(key));
    for (const row of batch.rows) this.#rows.set(keyOf(row), row);
  }

  #setTrust({ untrusted, cause, state }: Trust): void {
    const reasons = new Map(untrusted?.map((row) => [keyOf(row), row.why_not]));
    for (const [key, row] of this.#rows) {
      const whyNot = untrusted === null ? (cause ?? state) : (reasons.get(key) ?? null);
      this.#rows.set(key, { ...row, trusted: whyNot === null ? 1 : 0, why_not: whyNot });
    }
  }
}
