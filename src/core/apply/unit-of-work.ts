import type { Input } from '../input.ts';
import type { Fact } from './fact.ts';
import { assertInvariant } from './invariant.ts';
import {
  BUNDLE_DELAY_MAX_MS,
  BUNDLE_DELAY_MIN_MS,
  BUNDLE_DELAY_PER_PRODUCT_MS,
  EARLIEST_MS,
  REPLICA_LAG_MS,
} from '../limits.ts';
import type { Change, MirrorStateRow, Variant } from '../model.ts';
import { REASONS, type Reason } from '../reasons.ts';
import { isDateDropped } from '../merge/clock-bounds.ts';
import type { NewBundle } from '../merge/judge-variant.ts';
import { hasPause, mergeRequests, pauseEndsAtMs } from '../merge/read-request.ts';
import { searchFor, unmappedVariant } from '../merge/unknown.ts';
import type { Tables } from './tables.ts';

export class UnitOfWork {
  readonly tables: Tables;
  readonly input: Input;
  readonly report: (fact: Fact) => void;
  state: MirrorStateRow;

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
    reason: Reason,
    made: { readonly atMs?: number; readonly notBeforeMs?: number } = {},
  ): void {
    const standing = this.tables.readRequest(productId);
    const notBeforeMs = made.notBeforeMs ?? this.pauseEndsAtMs(productId, reason);
    const madeAtMs = made.atMs ?? this.input.atMs;
    this.tables.putReadRequest(mergeRequests(standing, { productId, reason, madeAtMs, notBeforeMs }));
    if (standing === undefined) this.report({ kind: 'read_requested', productId, reason });
  }

  pauseEndsAtMs(productId: string, reason: Reason | 'order'): number {
    const product = hasPause(reason) ? this.tables.product(productId) : undefined;
    return product === undefined ? EARLIEST_MS : pauseEndsAtMs(product, reason, this.input.atMs);
  }

  /**
   * Like `requestRead`, also for the bundles that may contain the variant. If its product is unknown, the catalogue
   * is searched.
   */
  requestVariantRead(variantId: string, reason: Reason): void {
    const variant = this.tables.variant(variantId) ?? unmappedVariant(variantId, null);
    // The touch keeps a read under way from meeting the request, while it may still map the variant.
    this.tables.putVariant({
      ...variant,
      eventAtMs: Math.max(variant.eventAtMs, this.input.atMs),
      ...searchFor(variant, this.input.atMs),
    });
    if (variant.productId !== null) this.requestRead(variant.productId, reason);
    if (REASONS[reason].isSuspect) this.noteComponent(variant);
  }

  /**
   * Bundles that contain the variant change with it, without webhooks: they are read a little later, together. This
   * holds for every change of a component and every doubt about it, also for a change that leaves the mirror's
   * quantity as it was or comes before a first bundle.
   */
  noteComponent({ bundledByCount, productId, goneAtMs, verifiedAtMs }: Variant): void {
    // No read has shown yet which bundles contain it.
    const isUnknown = productId === null && goneAtMs === null;
    const { bundlesMadeAtMs } = this.state;
    // The newest bundle may contain it since its last read. Another read tells.
    const isOutdated =
      bundlesMadeAtMs !== null && (verifiedAtMs ?? EARLIEST_MS) < bundlesMadeAtMs + REPLICA_LAG_MS;
    if (bundledByCount > 0 || isUnknown || isOutdated) this.makeBundlesDue();
    if (isOutdated && productId !== null) this.requestRead(productId, 'component');
  }

  noteNewBundle({ madeAtMs, isOvertaken }: NewBundle): void {
    const bundlesMadeAtMs = Math.max(madeAtMs, this.state.bundlesMadeAtMs ?? EARLIEST_MS);
    this.state = { ...this.state, bundlesMadeAtMs };
    if (isOvertaken) this.makeBundlesDue();
  }

  makeBundlesDue(): void {
    if (this.state.bundlesDueAtMs !== null) return;
    const delayMs = Math.min(
      BUNDLE_DELAY_MAX_MS,
      Math.max(BUNDLE_DELAY_MIN_MS, this.tables.bundleProductCount() * BUNDLE_DELAY_PER_PRODUCT_MS),
    );
    this.state = { ...this.state, bundlesDueAtMs: this.input.atMs + delayMs };
  }

  setDateContradictions(dateContradictions: number): void {
    const before = this.state;
    this.state = { ...this.state, dateContradictions };
    const isDropped = isDateDropped(this.state);
    if (isDropped !== isDateDropped(before)) this.report({ kind: 'date', isDropped });
  }
}
