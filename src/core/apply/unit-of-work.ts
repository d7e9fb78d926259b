import type { Input } from '../input.ts';
import type { Fact } from './fact.ts';
import { assertInvariant } from './invariant.ts';
import { DATE_CONTRADICTIONS } from '../limits.ts';
import type { Change, MirrorState, Variant } from '../model.ts';
import { conflictPauseMs, mergeRequests, type NewRequest } from '../merge/read-request.ts';
import type { Tables } from './tables.ts';

export class UnitOfWork {
  readonly tables: Tables;
  readonly input: Input;
  readonly report: (fact: Fact) => void;
  state: MirrorState;

  constructor(tables: Tables, input: Input, report: (fact: Fact) => void) {
    this.tables = tables;
    this.input = input;
    this.report = report;
    this.state = tables.state();
  }

  close(): void {
    const before = this.tables.state().trustedAfterMs;
    const { trustedAfterMs } = this.state;
    assertInvariant(
      trustedAfterMs >= before,
      'the barrier never falls',
      () => `${before} to ${trustedAfterMs}`,
    );
    this.tables.putState(this.state);
  }

  nextChangeSeq(): number {
    const changeSeq = this.state.changeSeq + 1;
    this.state = { ...this.state, changeSeq };
    return changeSeq;
  }

  appendChange(change: Omit<Change, 'seq' | 'inboxSeq' | 'recordedAtMs'>): number {
    const seq = this.nextChangeSeq();
    this.tables.appendChange({
      ...change,
      seq,
      inboxSeq: this.input.kind === 'delivery' ? this.input.inboxSeq : null,
      recordedAtMs: this.input.atMs,
    });
    return seq;
  }

  requestRead(
    productId: string,
    reason: NewRequest['reason'],
    made: { atMs?: number; notBeforeMs?: number } = {},
  ): void {
    const standing = this.tables.readRequest(productId);
    const notBeforeMs =
      made.notBeforeMs ?? (reason === 'conflict' ? this.conflictPauseEndsAtMs(productId) : null);
    this.tables.putReadRequest(
      mergeRequests(standing, {
        productId,
        reason,
        madeAtMs: made.atMs ?? this.input.atMs,
        ...(notBeforeMs === null ? {} : { notBeforeMs }),
      }),
    );
    if (standing === undefined) this.report({ kind: 'read_requested', productId, reason });
  }

  /** Conflicts that no read settles must not cause endless reads; the product's rows stay suspect. */
  conflictPauseEndsAtMs(productId: string): number | null {
    const product = this.tables.product(productId);
    const pauseMs = conflictPauseMs(product?.conflictReads ?? 0);
    if (product === undefined || pauseMs === 0) return null;
    // The clock may have been set back since the last read.
    return Math.min(product.readUntilMs, this.input.atMs) + pauseMs;
  }

  /** Like `requestRead`; if the variant's product is unknown, the catalogue is searched. */
  requestVariantRead(variant: Variant, reason: NewRequest['reason']): Variant {
    // The touch keeps a read under way from meeting the request, while it may still map the variant.
    const touched = { ...variant, eventAtMs: this.input.atMs };
    if (variant.productId !== null) {
      this.requestRead(variant.productId, reason);
      return touched;
    }
    if (variant.lookupAtMs !== null) return touched;
    this.report({ kind: 'unmapped', variantId: variant.variantId });
    return { ...touched, lookupAtMs: this.input.atMs };
  }

  setDateContradictions(dateContradictions: number): void {
    const before = this.state.dateContradictions;
    if (before === dateContradictions) return;
    this.state = { ...this.state, dateContradictions };
    const isDropped = dateContradictions >= DATE_CONTRADICTIONS;
    if (isDropped !== before >= DATE_CONTRADICTIONS) this.report({ kind: 'date', isDropped });
  }
}
