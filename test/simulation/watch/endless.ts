/**
 * Permanent contradictions (a wrong Date, a level no detail shows) are asked about for a while only
 * (docs/architecture.md#clock-bounds).
 */
import type { DeliveryInput, Input } from '../../../src/core/input.ts';
import type { Fact } from '../../../src/core/apply/fact.ts';
import type { Tables } from '../../../src/core/apply/tables.ts';
import { present } from '../../shared/present.ts';

const PROMPT_MS = 500;
/** Three in a row prove it, which is rare for levels that change again before a read. */
const MOST_SEEN = 60;
const MOST_READS = 20;

interface Hidden {
  reads: number;
  isAskedFor: boolean;
}

export class Endless {
  readonly #fault: (what: string) => void;
  readonly #offsetMs: number;
  readonly #isDateWrong: boolean;
  #seen = 0;
  readonly #hidden = new Map<string, Hidden>();

  /** @param offsetMs store time minus mirror time. */
  constructor(fault: (what: string) => void, offsetMs: number, isDateWrong: boolean) {
    this.#fault = fault;
    this.#isDateWrong = isDateWrong;
    this.#offsetMs = offsetMs;
  }

  check(input: Input, facts: readonly Fact[], tables: Pick<Tables, 'variant' | 'readRequest'>): void {
    const productOf = (variantId: string) => tables.variant(variantId)?.productId ?? null;
    const asksFor = (variantId: string) =>
      tables.readRequest(productOf(variantId) ?? '')?.madeAtMs === input.atMs;
    if (input.kind === 'delivery') this.#checkChanges(input, facts, asksFor);
    // A read for another reason would have been sent anyway.
    const isForConflict = facts.some((fact) => fact.kind === 'met' && fact.reason === 'conflict');
    if (input.kind === 'read' && input.snapshot !== null && isForConflict)
      this.#checkHidden(input.productId, productOf);
  }

  #checkChanges(
    { atMs, changes }: Pick<DeliveryInput, 'atMs' | 'changes'>,
    facts: readonly Fact[],
    asksFor: (variantId: string) => boolean,
  ): void {
    const isPrompt = changes.every((change) => atMs + this.#offsetMs - change.updateTimeMs < PROMPT_MS);
    for (const fact of facts) {
      if (fact.kind === 'date') this.#seen = 0;
      if (fact.kind !== 'change') continue;
      const key = `${fact.variantId}/${fact.warehouseId}`;
      if (fact.branch === 'gone, uncertain') {
        const { reads = 0, isAskedFor = false } = this.#hidden.get(key) ?? {};
        this.#hidden.set(key, { reads, isAskedFor: isAskedFor || asksFor(fact.variantId) });
      } else if (!fact.branch.startsWith('gone')) {
        this.#hidden.delete(key);
      }
      if (!this.#isDateWrong || !isPrompt || fact.branch !== '4a seen by the read') continue;
      this.#seen += 1;
      if (this.#seen === MOST_SEEN) {
        this.#fault(`${MOST_SEEN} prompt changes were taken for older than a read, lastly of ${key}`);
      }
    }
  }

  #checkHidden(productId: string, productOf: (variantId: string) => string | null): void {
    for (const [key, hidden] of this.#hidden) {
      if (!hidden.isAskedFor || productOf(present(key.split('/')[0])) !== productId) continue;
      hidden.isAskedFor = false;
      hidden.reads += 1;
      if (hidden.reads === MOST_READS) this.#fault(`${key} was read about ${MOST_READS} times in vain`);
    }
  }
}
