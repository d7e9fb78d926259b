/**
 * The last day minute by minute, for the plots of the ops page: figures kept nowhere else, such as response times. In
 * memory, bounded, and lost with the process; earlier deliveries are counted from the event log.
 */
import type { Logger } from '../../platform/log.ts';
import type { StoreReader } from '../../mirror/reader/store-reader.ts';
import type { SampledState, StateSampler } from './state-sampler.ts';

export interface Minute {
  /** When it began, epoch ms. */
  readonly atMs: number;
  /** Deliveries answered 204; null: not known. */
  readonly deliveries: number | null;
  /** Requests answered otherwise; null: not known. */
  readonly refused: number | null;
  /** Of the response times; null: there was no answer. */
  readonly medianMs: number | null;
  readonly p99Ms: number | null;
  /** The largest figures sampled in the minute; null: not sampled. */
  readonly pendingReads: number | null;
  readonly suspects: number | null;
  readonly openGaps: number | null;
  /** The age of the oldest re-read request that makes rows suspect; 0: there was none. */
  readonly lagMs: number | null;
}

export interface SlowAnswer {
  readonly atMs: number;
  readonly status: number;
  readonly tookMs: number;
  /** Of the body; null: not known. */
  readonly bytes: number | null;
}

export interface Timeline {
  /** The last `count` minutes, oldest first; the last one is not over yet. */
  minutes(count: number): Minute[];
  /** Recent slow answers, newest first. */
  slowAnswers(): readonly SlowAnswer[];
}

interface TimelineDeps {
  readonly reader: StoreReader;
  /** The figures of each minute are the largest of its samples. */
  readonly sampler: Pick<StateSampler, 'onSample'>;
  readonly now: () => number;
  readonly log: Logger;
}

const MINUTE_MS = 60_000;
export const KEPT_MINUTES = 24 * 60;
/** Upper ends of the classes in which times are counted; the last class has none. */
const CLASSES_MS = [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1_000];
/** The store waits one second: a quarter of that deserves a look. */
const SLOW_MS = 250;
const SLOW_KEPT = 50;
/** How many entries of the event log are searched for deliveries before the start. */
const LOG_LOOKED_AT = 10_000;

interface Slot {
  minute: number;
  deliveries: number | null;
  refused: number | null;
  readonly classes: Uint32Array;
  slowestMs: number;
  pendingReads: number | null;
  suspects: number | null;
  openGaps: number | null;
  lagMs: number | null;
}

/** Also an observer of the public listener, and of the samples of the state. */
export class LiveTimeline implements Timeline {
  readonly #deps: TimelineDeps;
  readonly #slots = new Map<number, Slot>();
  readonly #slow: SlowAnswer[] = [];
  readonly #startedMinute: number;
  #recalling: Promise<void> | null = null;
  #stopped = false;

  constructor(deps: TimelineDeps) {
    this.#deps = deps;
    this.#startedMinute = Math.floor(deps.now() / MINUTE_MS);
    deps.sampler.onSample((sample) => this.#sampled(sample));
  }

  readonly observer = {
    committed: (body: Uint8Array, tookMs: number): void =>
      this.#answered({ status: 204, tookMs, bytes: body.byteLength }),
    refused: (refusal: {
      readonly status: number;
      readonly tookMs: number;
      readonly bytes: number | null;
    }): void => this.#answered(refusal),
  };

  start(): void {
    this.#recalling = this.#recall();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#recalling;
  }

  minutes(count: number): Minute[] {
    const last = Math.floor(this.#deps.now() / MINUTE_MS);
    return Array.from({ length: count }, (_, i) => {
      const minute = last - count + 1 + i;
      return minuteOf(minute, this.#slots.get(minute), { isWatched: minute >= this.#startedMinute });
    });
  }

  slowAnswers(): readonly SlowAnswer[] {
    return this.#slow.toReversed();
  }

  #answered({ status, tookMs, bytes }: Omit<SlowAnswer, 'atMs'>): void {
    const atMs = this.#deps.now();
    const slot = this.#slotAt(Math.floor(atMs / MINUTE_MS));
    if (status === 204) slot.deliveries = (slot.deliveries ?? 0) + 1;
    else slot.refused = (slot.refused ?? 0) + 1;
    // A refused signature needs no commit, so its time says nothing about how quickly deliveries are answered.
    if (status === 401 || status === 413) return;
    const place = CLASSES_MS.findIndex((end) => tookMs <= end);
    const at = place === -1 ? CLASSES_MS.length : place;
    slot.classes[at] = (slot.classes[at] ?? 0) + 1;
    slot.slowestMs = Math.max(slot.slowestMs, tookMs);
    if (tookMs < SLOW_MS) return;
    this.#slow.push({ atMs, status, tookMs, bytes });
    if (this.#slow.length > SLOW_KEPT) this.#slow.shift();
  }

  #slotAt(minute: number): Slot {
    let slot = this.#slots.get(minute);
    if (slot === undefined) {
      slot = {
        minute,
        deliveries: null,
        refused: null,
        classes: new Uint32Array(CLASSES_MS.length + 1),
        slowestMs: 0,
        pendingReads: null,
        suspects: null,
        openGaps: null,
        lagMs: null,
      };
      this.#slots.set(minute, slot);
      for (const kept of this.#slots.keys()) {
        if (kept <= minute - KEPT_MINUTES) this.#slots.delete(kept);
      }
    }
    return slot;
  }

  /** Fills in deliveries from before this process, from the event log. */
  async #recall(): Promise<void> {
    const { reader, now, log } = this.#deps;
    try {
      const sinceMs = now() - KEPT_MINUTES * MINUTE_MS;
      const logged = await reader.ask('loggedMinutes', { sinceMs, limit: LOG_LOOKED_AT });
      // The oldest minute may be incomplete.
      for (const { minute, deliveries } of logged.slice(1)) {
        if (minute < this.#startedMinute) this.#slotAt(minute).deliveries = deliveries;
      }
    } catch (error) {
      if (!this.#stopped)
        log.warn({ err: error }, 'cannot read recent deliveries from the event log: the plots begin now');
    }
  }

  #sampled({ status, oldestDoubtAtMs, atMs }: SampledState): void {
    const slot = this.#slotAt(Math.floor(atMs / MINUTE_MS));
    slot.pendingReads = Math.max(slot.pendingReads ?? 0, status.pending_reads);
    slot.suspects = Math.max(slot.suspects ?? 0, status.suspect_count);
    slot.openGaps = Math.max(slot.openGaps ?? 0, status.open_gaps);
    const lagMs = oldestDoubtAtMs === null ? 0 : Math.max(0, atMs - oldestDoubtAtMs);
    slot.lagMs = Math.max(slot.lagMs ?? 0, lagMs);
  }
}

function minuteOf(
  minute: number,
  slot: Slot | undefined,
  { isWatched }: { readonly isWatched: boolean },
): Minute {
  const none = isWatched ? 0 : null;
  return {
    atMs: minute * MINUTE_MS,
    deliveries: slot?.deliveries ?? none,
    refused: slot?.refused ?? none,
    medianMs: slot === undefined ? null : quantile(slot, 0.5),
    p99Ms: slot === undefined ? null : quantile(slot, 0.99),
    pendingReads: slot?.pendingReads ?? null,
    suspects: slot?.suspects ?? null,
    openGaps: slot?.openGaps ?? null,
    lagMs: slot?.lagMs ?? null,
  };
}

/** The upper end of the class that the quantile falls into, and never more than the slowest. */
function quantile({ classes, slowestMs }: Slot, share: number): number | null {
  const total = classes.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let seen = 0;
  for (const [at, count] of classes.entries()) {
    seen += count;
    if (seen >= total * share) return Math.min(CLASSES_MS[at] ?? slowestMs, slowestMs);
  }
  return slowestMs;
}
