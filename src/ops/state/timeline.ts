/**
 * The last week minute by minute, for the plots of the ops page: figures kept nowhere else, such as response times. In
 * memory, bounded; each minute that has passed is also noted in the mirror, so that a restart does not forget it.
 */
import type { Fact } from '../../core/apply/fact.ts';
import type { Logger } from '../../platform/log.ts';
import type { StoreReader } from '../../mirror/reader/store-reader.ts';
import type { StoreWriter } from '../../mirror/writer/store-writer.ts';
import type { SampledState, StateSampler } from './state-sampler.ts';
import { Quantiles } from './quantiles.ts';

/** How the figures of several minutes, or of two processes within one, become one. */
export const FIGURES = {
  /** Deliveries answered 204, and requests answered otherwise. */
  deliveries: 'sum',
  refused: 'sum',
  /** Of the response times. */
  medianMs: 'largest',
  p99Ms: 'largest',
  /** Requests to the store. */
  requests: 'sum',
  /** From `update_time` to arrival, of a sample of the changes. */
  arrivalMedianMs: 'largest',
  arrivalP99Ms: 'largest',
  /** Losses proven, by how: a gap that a read has answered; the last webhook of a level; during downtime. */
  lostInGap: 'sum',
  lostTail: 'sum',
  lostInDowntime: 'sum',
  /** Differences that reads have corrected, of whatever cause. */
  corrected: 'sum',
  /** From a re-read request or gap to the read that settled it. */
  repairMedianMs: 'largest',
  repairP99Ms: 'largest',
  /** Products that a read settled a request for. */
  repaired: 'sum',
  pendingReads: 'largest',
  suspects: 'largest',
  openGaps: 'largest',
  /** The age of the oldest re-read request that makes rows suspect; 0: there was none. */
  lagMs: 'largest',
  /** The process began in this minute. */
  started: 'largest',
} as const;

export type Figure = keyof typeof FIGURES;
/** Null: not known. */
type Figures = Readonly<Record<Figure, number | null>>;

export interface Minute extends Figures {
  /** When it began, epoch ms. */
  readonly atMs: number;
  /** Whether a mirror ran in it, as far as is known. */
  readonly isKnown: boolean;
}

export interface Timeline {
  /** The last `count` minutes, oldest first; the last one is not over yet. */
  minutes(count: number): Minute[];
}

export interface TimelineDeps {
  readonly reader: StoreReader;
  readonly writer: Pick<StoreWriter, 'command' | 'onApplied'>;
  /** The figures of each minute are the largest of its samples. */
  readonly sampler: Pick<StateSampler, 'onSample'>;
  readonly now: () => number;
  readonly log: Logger;
}

const MINUTE_MS = 60_000;
export const KEPT_MINUTES = 7 * 24 * 60;
/** How many entries of the event log are searched for deliveries before the start. */
const LOG_LOOKED_AT = 10_000;

interface Slot {
  readonly figures: Partial<Record<Figure, number>>;
  /** Until the minute is noted. */
  readonly times: Readonly<Record<'answer' | 'arrival' | 'repair', Quantiles>> | null;
  /** As it is shown, once nothing is added to it any more. */
  shown?: Minute;
}

/** Also an observer of the public listener, of the samples of the state, and of what is applied. */
export class LiveTimeline implements Timeline {
  readonly #deps: TimelineDeps;
  readonly #slots = new Map<number, Slot>();
  readonly #startedMinute: number;
  /** Earlier minutes are in the mirror, or nothing is known of them. */
  #notNoted: number;
  #recalling: Promise<void> | null = null;
  #stopListening: (() => void) | null = null;
  #stopped = false;

  constructor(deps: TimelineDeps) {
    this.#deps = deps;
    this.#startedMinute = this.#notNoted = Math.floor(deps.now() / MINUTE_MS);
    deps.sampler.onSample((sample) => this.#sampled(sample));
  }

  readonly observer = {
    committed: (_body: Uint8Array, tookMs: number): void => this.#answered({ status: 204, tookMs }),
    refused: (refusal: { readonly status: number; readonly tookMs: number }): void => this.#answered(refusal),
  };

  /** A request to the store has ended. */
  asked(): void {
    this.#add('requests', 1);
  }

  /** A change has arrived so long after its `update_time`. */
  arrived(lateMs: number): void {
    this.#slotNow().times?.arrival.add(lateMs);
  }

  start(): void {
    this.#add('started', 1);
    this.#stopListening = this.#deps.writer.onApplied(({ reports }) => {
      for (const { facts } of reports) for (const fact of facts) this.#happened(fact);
    });
    this.#recalling = this.#recall();
  }

  /** While the mirror can still be written. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopListening?.();
    await this.#recalling;
    if (this.#recalling !== null) await this.#noteUpTo(Math.floor(this.#deps.now() / MINUTE_MS));
  }

  minutes(count: number): Minute[] {
    const last = Math.floor(this.#deps.now() / MINUTE_MS);
    return Array.from({ length: count }, (_, i) => {
      const minute = last - count + 1 + i;
      const slot = this.#slots.get(minute);
      const isWatched = minute >= this.#startedMinute;
      if (slot === undefined) return minuteOf(minute, {}, { isWatched });
      if (minute >= this.#notNoted) return minuteOf(minute, figuresOf(slot), { isWatched });
      return (slot.shown ??= minuteOf(minute, slot.figures, { isWatched }));
    });
  }

  #answered({ status, tookMs }: { readonly status: number; readonly tookMs: number }): void {
    this.#add(status === 204 ? 'deliveries' : 'refused', 1);
    // A refused signature needs no commit, so its time says nothing about how quickly deliveries are answered.
    if (status === 401 || status === 413) return;
    this.#slotNow().times?.answer.add(tookMs);
  }

  #happened(fact: Fact): void {
    if (fact.kind === 'gap_proved') {
      this.#add('lostInGap', 1);
      this.#settled(this.#deps.now() - fact.gap.openedAtMs);
    } else if (fact.kind === 'met') this.#settled(fact.ageMs);
    else if (fact.kind === 'drift') {
      this.#add('corrected', 1);
      if (fact.cause === 'lost_tail') this.#add('lostTail', 1);
      if (fact.cause === 'downtime') this.#add('lostInDowntime', 1);
    }
  }

  #settled(ageMs: number): void {
    this.#add('repaired', 1);
    this.#slotNow().times?.repair.add(Math.max(0, ageMs));
  }

  #add(figure: Figure, value: number): void {
    join(this.#slotNow().figures, figure, value);
  }

  #slotNow(): Slot {
    return this.#slotAt(Math.floor(this.#deps.now() / MINUTE_MS));
  }

  #slotAt(minute: number): Slot {
    let slot = this.#slots.get(minute);
    if (slot === undefined) {
      const times = { answer: new Quantiles(), arrival: new Quantiles(), repair: new Quantiles() };
      slot = { figures: {}, times: minute >= this.#notNoted ? times : null };
      this.#slots.set(minute, slot);
      for (const kept of this.#slots.keys()) {
        if (kept <= minute - KEPT_MINUTES) this.#slots.delete(kept);
      }
    }
    return slot;
  }

  /** Fills in what was before this process, from the mirror, and deliveries that it does not know from the event log. */
  async #recall(): Promise<void> {
    const { reader, now, log } = this.#deps;
    try {
      const sinceMs = now() - KEPT_MINUTES * MINUTE_MS;
      for (const { minute, figures } of await reader.ask('notedMinutes', { sinceMs })) {
        const slot = this.#slotAt(minute);
        delete slot.shown;
        for (const [figure, value] of Object.entries(figures)) {
          if (Object.hasOwn(FIGURES, figure)) join(slot.figures, figure as Figure, value);
        }
      }
      const logged = await reader.ask('loggedMinutes', { sinceMs, limit: LOG_LOOKED_AT });
      // The oldest minute may be incomplete.
      for (const { minute, deliveries } of logged.slice(1)) {
        if (minute < this.#startedMinute) this.#slotAt(minute).figures.deliveries ??= deliveries;
      }
    } catch (error) {
      if (!this.#stopped)
        log.warn({ err: error }, 'cannot read the figures of before the start: the plots begin now');
    }
  }

  #sampled({ status, oldestSuspectAtMs, atMs }: SampledState): void {
    const minute = Math.floor(atMs / MINUTE_MS);
    const { figures } = this.#slotAt(minute);
    join(figures, 'pendingReads', status.pending_reads);
    join(figures, 'suspects', status.suspect_count);
    join(figures, 'openGaps', status.open_gaps);
    join(figures, 'lagMs', oldestSuspectAtMs === null ? 0 : Math.max(0, atMs - oldestSuspectAtMs));
    // What is not known yet of before must not be noted over.
    if (this.#recalling !== null) void this.#recalling.then(() => this.#noteUpTo(minute - 1));
  }

  /** Never rejects: the next sample tries again. */
  async #noteUpTo(last: number): Promise<void> {
    for (let minute = this.#notNoted; minute <= last; minute += 1) {
      const slot = this.#slots.get(minute);
      if (slot === undefined) continue;
      const figures = figuresOf(slot);
      this.#slots.set(minute, { figures, times: null });
      this.#notNoted = minute + 1;
      await this.#deps.writer.command('noteMinute', { minute, figures }).catch(() => undefined);
    }
  }
}

function join(figures: Partial<Record<Figure, number>>, figure: Figure, value: number): void {
  const known = figures[figure] ?? 0;
  figures[figure] = FIGURES[figure] === 'sum' ? known + value : Math.max(known, value);
}

function figuresOf({ figures, times }: Slot): Partial<Record<Figure, number>> {
  if (times === null) return figures;
  const { answer, arrival, repair } = times;
  const all = { ...figures };
  for (const [figure, value] of [
    ['medianMs', answer.at(0.5)],
    ['p99Ms', answer.at(0.99)],
    ['arrivalMedianMs', arrival.at(0.5)],
    ['arrivalP99Ms', arrival.at(0.99)],
    ['repairMedianMs', repair.at(0.5)],
    ['repairP99Ms', repair.at(0.99)],
  ] as const) {
    if (value !== null) join(all, figure, value);
  }
  return all;
}

const NAMES = Object.keys(FIGURES) as Figure[];
const NOTHING_KNOWN = Object.fromEntries(NAMES.map((name) => [name, null])) as Figures;
const NOTHING_HAPPENED = Object.fromEntries(
  NAMES.map((name) => [name, FIGURES[name] === 'sum' ? 0 : null]),
) as Figures;

function minuteOf(
  minute: number,
  known: Partial<Record<Figure, number>>,
  { isWatched }: { readonly isWatched: boolean },
): Minute {
  // A figure that was sampled shows that a mirror ran; deliveries alone may come from the event log.
  const isKnown = isWatched || known.pendingReads !== undefined || known.started !== undefined;
  const figures = { ...(isKnown ? NOTHING_HAPPENED : NOTHING_KNOWN), ...known };
  return { atMs: minute * MINUTE_MS, isKnown, ...figures };
}
