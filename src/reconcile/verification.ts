/** Scheduled reads (docs/architecture.md#schedule): a rate at which every product is read within a bound. */
import type { VerificationBound } from '../core/verification-bound.ts';
import type { ReadingDeps } from './product-reader.ts';

interface VerificationDeps extends Pick<ReadingDeps, 'mirror' | 'now'> {
  readonly bound: VerificationBound;
  /** false: only losses cause scheduled reads. */
  readonly isOn: boolean;
}

/** The schedule aims at this share of the bound, because its reads may have to wait for others. */
const AIM = 0.9;
/** Reads that others kept waiting for longer are not made up for at once. */
const MADE_UP_SECONDS = 1;

export class Verification {
  readonly #deps: VerificationDeps;
  #perSecond = 0;
  /** Reads that may begin now; by the monotonic clock, because the own clock may step. */
  #room = 0;
  #roomAtMs = performance.now();
  #lossAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: VerificationDeps) {
    this.#deps = deps;
  }

  /** Networks lose in bursts, so every product is read again at the highest rate. */
  noteLoss(): void {
    this.#lossAtMs = this.#deps.now();
  }

  /** Decides the rate. To be called often. @throws SqliteFault */
  async check(): Promise<void> {
    const { mirror, now, bound, isOn } = this.#deps;
    const nowMs = now();
    const { products, oldestReadAtMs } = await mirror.ask('verificationOutlook', { nowMs });
    const aimMs = AIM * bound.withinMs;
    // The clock may have stepped back since the loss.
    this.#lossAtMs = Math.min(this.#lossAtMs, nowMs);
    const lateBeforeMs = isOn ? Math.max(this.#lossAtMs, nowMs - aimMs) : this.#lossAtMs;
    const isLate = oldestReadAtMs !== null && oldestReadAtMs < lateBeforeMs;
    const usual = isOn ? (products * 1_000) / aimMs : 0;
    this.#makeRoom();
    this.#perSecond = isLate ? bound.maxReadsPerSecond : Math.min(usual, bound.maxReadsPerSecond);
  }

  /** How many scheduled reads may begin now. */
  free(): number {
    this.#makeRoom();
    return Math.floor(this.#room);
  }

  begun(reads: number): void {
    this.#room = Math.max(0, this.#room - reads);
  }

  #makeRoom(): void {
    const nowMs = performance.now();
    const room = this.#room + ((nowMs - this.#roomAtMs) / 1_000) * this.#perSecond;
    // One more, because a part of a read is no read.
    this.#room = Math.min(room, 1 + MADE_UP_SECONDS * this.#perSecond);
    this.#roomAtMs = nowMs;
  }
}
