/**
 * Scheduled reads (docs/architecture.md#schedule): every
 * product is read within a bound, evenly over the time.
 */
import type { ReadingDeps } from './product-reader.ts';

export interface VerificationBound {
  readonly withinMs: number;
  /** The most reads a second that the schedule may cause. */
  readonly maxReadsPerSecond: number;
}

interface VerificationDeps extends Pick<ReadingDeps, 'databases' | 'now'> {
  readonly bound: VerificationBound;
  /** The next tick after an instant, both in epoch ms; null if the schedule is off. */
  readonly nextTickAtMs: (afterMs: number) => number | null;
}

/** Small stores are read nearly whole at each tick. */
const LEAST_READS = 10;
/** Reads are due this early, because they may have to wait for others. */
const DUE_SHARE = 0.9;
/** Reads that were held back for longer than this are not made up for in a burst. */
const LATE_MS = 5_000;

/** Networks lose in bursts, so a proven loss runs a larger tick. */
export const TIMES_AFTER_LOSS = 6;
const AFTER_LOSS_EVERY_MS = 5 * 60_000;
/** The interval of the tick after a loss while the schedule is off. */
const USUAL_INTERVAL_MS = 15 * 60_000;

interface TickPlan {
  readonly products: number;
  /** Products whose last read will be too old at the next tick. */
  readonly overdueAtEnd: number;
  readonly intervalMs: number;
  /** Reads of a tick after a loss that are not paid for. */
  readonly debt: number;
}

/**
 * @returns how many products a tick reads, and how many of its usual reads it leaves out to pay for a loss.
 */
export function planTick(
  { products, overdueAtEnd, intervalMs, debt }: TickPlan,
  bound: VerificationBound,
): { readonly reads: number; readonly paid: number } {
  const usual = usualReads(products, intervalMs, bound);
  const paid = Math.min(debt, Math.floor(usual / 2));
  const needed = Math.min(overdueAtEnd, mostReads(intervalMs, bound));
  return { reads: Math.max(usual - paid, needed), paid };
}

function usualReads(products: number, intervalMs: number, bound: VerificationBound): number {
  const share = Math.ceil((products * intervalMs) / bound.withinMs);
  return Math.min(Math.max(LEAST_READS, share), mostReads(intervalMs, bound));
}

/** Under steady losses, the reads after them keep to the rate of the schedule as well. */
export function pauseAfterLossMs(reads: number, { maxReadsPerSecond }: VerificationBound): number {
  return Math.max(AFTER_LOSS_EVERY_MS, (reads / maxReadsPerSecond) * 1_000);
}

function mostReads(intervalMs: number, { maxReadsPerSecond }: VerificationBound): number {
  return Math.ceil((intervalMs / 1_000) * maxReadsPerSecond);
}

interface Tick {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly reads: number;
}

const NONE: Tick = { fromMs: 0, untilMs: 0, reads: 0 };

export class Verification {
  readonly #deps: VerificationDeps;
  #tick = NONE;
  /** Reads of the present tick that have begun or were given up. */
  #spent = 0;
  /** Reads after a loss, which do not wait. */
  #atOnce = 0;
  #debt = 0;
  #isLossOpen = false;
  #nextAfterLossMs = Number.NEGATIVE_INFINITY;
  #checkedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: VerificationDeps) {
    this.#deps = deps;
  }

  /** Products read before this are read first; the others by their oldest evidence. */
  get dueBeforeMs(): number {
    return this.#deps.now() - DUE_SHARE * this.#deps.bound.withinMs;
  }

  /** How many products may be read now if nothing is more urgent. */
  free(): number {
    const { fromMs, untilMs, reads } = this.#tick;
    const { maxReadsPerSecond } = this.#deps.bound;
    const elapsed = Math.min(1, (this.#deps.now() - fromMs) / Math.max(1, untilMs - fromMs));
    const due = Math.floor(reads * Math.max(0, elapsed));
    const atOnce = Math.ceil((LATE_MS / 1_000) * maxReadsPerSecond);
    this.#spent = Math.max(this.#spent, due - atOnce);
    return this.#atOnce + Math.max(0, due - this.#spent);
  }

  begun(reads: number): void {
    const atOnce = Math.min(reads, this.#atOnce);
    this.#atOnce -= atOnce;
    this.#spent += reads - atOnce;
  }

  noteLoss(): void {
    this.#isLossOpen = true;
  }

  /** Begins a tick if one is due, and the reads after a loss. To be called often. @throws SqliteFault */
  async check(): Promise<void> {
    const { now } = this.#deps;
    this.#forgetFuture(now());
    if (now() >= this.#tick.untilMs) await this.#beginTick();
    if (this.#isLossOpen && now() >= this.#nextAfterLossMs) await this.#readAfterLoss();
  }

  /** A clock that stepped back must not wait for what it planned while it was ahead, perhaps by hours. */
  #forgetFuture(nowMs: number): void {
    if (nowMs < this.#checkedAtMs) {
      this.#tick = NONE;
      this.#nextAfterLossMs = Number.NEGATIVE_INFINITY;
    }
    this.#checkedAtMs = nowMs;
  }

  async #beginTick(): Promise<void> {
    const { databases, now, bound, nextTickAtMs } = this.#deps;
    const fromMs = now();
    const untilMs = nextTickAtMs(fromMs);
    if (untilMs === null) return;
    await databases.writer.command('retryFailures', undefined);
    const counts = await databases.reader.ask('verificationCounts', {
      readBeforeMs: untilMs - bound.withinMs,
    });
    const { reads, paid } = planTick({ ...counts, intervalMs: untilMs - fromMs, debt: this.#debt }, bound);
    this.#debt -= paid;
    this.#spent = 0;
    this.#tick = { fromMs, untilMs, reads };
  }

  async #readAfterLoss(): Promise<void> {
    const { databases, now, bound } = this.#deps;
    const { products } = await databases.reader.ask('verificationCounts', { readBeforeMs: 0 });
    const intervalMs = this.#tick === NONE ? USUAL_INTERVAL_MS : this.#tick.untilMs - this.#tick.fromMs;
    const reads = Math.min(products, TIMES_AFTER_LOSS * usualReads(products, intervalMs, bound));
    this.#isLossOpen = false;
    this.#nextAfterLossMs = now() + pauseAfterLossMs(reads, bound);
    this.#atOnce = reads;
    this.#debt = reads;
  }
}
