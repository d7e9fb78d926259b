/** One entry's work on the tables: hands out change numbers, collects the state, and records re-read requests. */
import type { Fact } from './fact.ts';
import { LOSS_SWEEP_JOINED_MS, LOSS_SWEEP_PRODUCTS, DATE_CONTRADICTIONS } from '../limits.ts';
import type { Change, MirrorState, Variant } from '../model.ts';
import { mergeRequests, isMet, type NewRequest } from '../merge/read-request.ts';
import type { Tables } from './tables.ts';

interface Position {
  readonly seq: number;
  readonly atMs: number;
}

export class UnitOfWork {
  readonly tables: Tables;
  readonly entry: Position;
  readonly report: (fact: Fact) => void;
  state: MirrorState;

  constructor(tables: Tables, entry: Position, report: (fact: Fact) => void) {
    this.tables = tables;
    this.entry = entry;
    this.report = report;
    this.state = tables.state();
  }

  /** Ends the entry: nothing may be written through it afterwards. */
  close(): void {
    this.tables.putState({ ...this.state, appliedSeq: this.entry.seq });
  }

  /** A number for something that ERPs see change; numbers only grow. */
  nextChangeSeq(): number {
    const changeSeq = this.state.changeSeq + 1;
    this.state = { ...this.state, changeSeq };
    return changeSeq;
  }

  appendChange(change: Omit<Change, 'seq' | 'logSeq' | 'recordedAtMs'>): number {
    const seq = this.nextChangeSeq();
    this.tables.appendChange({
      ...change,
      seq,
      logSeq: this.entry.seq,
      recordedAtMs: this.entry.atMs,
    });
    return seq;
  }

  /** The product must be read again; by default because of this entry. */
  requestRead(
    productId: string,
    reason: NewRequest['reason'],
    made: { seq?: number; atMs?: number; notBeforeMs?: number } = {},
  ): void {
    const standing = this.tables.readRequest(productId);
    this.tables.putReadRequest(
      mergeRequests(standing, {
        productId,
        reason,
        madeSeq: made.seq ?? this.entry.seq,
        madeAtMs: made.atMs ?? this.entry.atMs,
        ...(made.notBeforeMs === undefined ? {} : { notBeforeMs: made.notBeforeMs }),
      }),
    );
    if (standing === undefined) this.report({ kind: 'obliged', productId, reason });
  }

  /** As `requestRead`, for a variant whose product may be unknown: then the catalogue is looked through. */
  requestVariantRead(variant: Variant, reason: NewRequest['reason']): Variant {
    if (variant.productId !== null) {
      this.requestRead(variant.productId, reason);
      return variant;
    }
    // Touched, so that a read already under way maps it without meeting the request.
    const touched = { ...variant, eventSeq: this.entry.seq, eventAtMs: this.entry.atMs };
    if (variant.lookupAtMs !== null) return touched;
    this.report({ kind: 'unmapped', variantId: variant.variantId });
    return { ...touched, lookupAtMs: this.entry.atMs };
  }

  /** How many changes have contradicted the Date of the answers, one after the other. Enough of them, and it is dropped. */
  setDateContradictions(dateContradictions: number): void {
    const before = this.state.dateContradictions;
    if (before === dateContradictions) return;
    this.state = { ...this.state, dateContradictions };
    const isDropped = dateContradictions >= DATE_CONTRADICTIONS;
    if (isDropped !== before >= DATE_CONTRADICTIONS) this.report({ kind: 'date', isDropped });
  }

  /**
   * A loss is proven, by a gap opened then: what moves is read, unless a loss sweep since then asks for that already.
   * Finding what moves is dear and losses come in groups: soon after a loss sweep the next one speaks for all that is
   * still to be proven of what was opened so far.
   */
  answerLoss(opened: Position): void {
    const { lossSweptSeq, lossSweptAtMs } = this.state;
    if (opened.seq <= lossSweptSeq && opened.atMs <= lossSweptAtMs) return;
    const isJoined = Math.abs(this.entry.atMs - lossSweptAtMs) < LOSS_SWEEP_JOINED_MS;
    this.sendLossSweep(isJoined ? this.entry : opened);
  }

  /** A product that comes to life by a read from before the last loss sweep was not among those that it asked for. */
  joinLossSweep(productId: string, read: { readonly s0: number; readonly sentAtMs: number }): void {
    const { lossSweptSeq: seq, lossSweptAtMs: atMs } = this.state;
    if (isMet({ madeSeq: seq, madeAtMs: atMs }, read)) return;
    this.requestRead(productId, 'canary', { seq, atMs });
  }

  /**
   * A delivery is missing, and what else it carried is unknown: the products that move are read first, each
   * unless it has been read since the reason arose.
   */
  sendLossSweep(loss: Position, limit = LOSS_SWEEP_PRODUCTS): void {
    this.state = { ...this.state, lossSweptSeq: loss.seq, lossSweptAtMs: loss.atMs };
    let products = 0;
    for (const { productId, readSeq, readAtMs } of this.tables.lossSweepProducts(limit)) {
      const known = { madeSeq: loss.seq, madeAtMs: loss.atMs };
      if (isMet(known, { s0: readSeq, sentAtMs: readAtMs })) continue;
      this.requestRead(productId, 'canary', { seq: loss.seq, atMs: loss.atMs });
      products += 1;
    }
    if (products > 0) this.report({ kind: 'canary', products });
  }
}
