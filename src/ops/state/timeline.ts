/**
 * The last day minute by minute, for the plots of the ops page. In memory; each minute that has passed is also noted in
 * the mirror, so that a restart does not forget it.
 */
import type { Fact } from '../../core/apply/fact.ts';
import type { Logger } from '../../platform/log.ts';
import type { StoreReader } from '../../mirror/mirror.ts';
import type { StoreWriter } from '../../mirror/mirror.ts';
import type { SampledState, StateSampler } from './state-sampler.ts';
import { Quantiles } from './quantiles.ts';

/** How the values of several minutes, or of two processes within one, become one. */
export const FIGURES = {
  /** Deliveries answered 204, and requests answered otherwise. */
  deliveries: 'sum',
  refused: 'sum',
  /** 99 % of the deliveries were answered within this time. */
  p99Ms: 'largest',
  /** Requests to the store. */
  requests: 'sum',
  /** Deliveries proven lost. */
  lost: 'sum',
  pendingReads: 'largest',
  suspects: 'largest',
  /** The process began in this minute. */
  started: 'largest',
} as const;

export type Figure = keyof typeof FIGURES;
type Figures = Partial<Record<Figure, number>>;

export type Minute = Readonly<Record<Figure, number | null>> & {
  /** When it began, epoch ms. */
  readonly atMs: number;
  /** Whether a mirror ran in it, as far as is known. */
  readonly isKnown: boolean;
};

export interface Timeline {
  /** Oldest first; the last one is not over yet. */
  minutes(): Minute[];
}

export interface TimelineDeps {
  readonly reader: StoreReader;
  readonly writer: Pick<StoreWriter, 'command' | 'onApplied'>;
  readonly sampler: Pick<StateSampler, 'onSample'>;
  readonly now: () => number;
  readonly log: Logger;
}

const MINUTE_MS = 60_000;
export const KEPT_MINUTES = 24 * 60;

/** Counts what is answered, sampled and applied. */
export class LiveTimeline implements Timeline {
  readonly #deps: TimelineDeps;
  readonly #minutes = new Map<number, Figures>();
  /** Response times of the minutes that are not noted yet. */
  readonly #answers = new Map<number, Quantiles>();
  readonly #startedMinute: number;
  #notNoted: number;
  #recalling: Promise<void> | null = null;
  #stopListening: (() => void) | null = null;

  constructor(deps: TimelineDeps) {
    this.#deps = deps;
    this.#startedMinute = this.#notNoted = this.#minuteNow();
    deps.sampler.onSample((sample) => this.#sampled(sample));
  }

  /** A request to the public listener was answered. */
  answered(status: number, tookMs: number): void {
    this.#add(status === 204 ? 'deliveries' : 'refused', 1);
    // A refused signature needs no commit, so its time says nothing about how quickly deliveries are answered.
    if (status === 401 || status === 413) return;
    const minute = this.#minuteNow();
    const answers = this.#answers.get(minute) ?? new Quantiles();
    this.#answers.set(minute, answers);
    answers.add(tookMs);
  }

  /** A request to the store has ended. */
  asked(): void {
    this.#add('requests', 1);
  }

  start(): void {
    this.#add('started', 1);
    this.#stopListening = this.#deps.writer.onApplied(({ reports }) => {
      const lost = reports.flatMap(({ facts }) => facts.filter(isLoss)).length;
      if (lost > 0) this.#add('lost', lost);
    });
    this.#recalling = this.#recall();
  }

  /** While the mirror can still be written. */
  async stop(): Promise<void> {
    this.#stopListening?.();
    if (this.#recalling === null) return;
    await this.#recalling;
    await this.#noteUpTo(this.#minuteNow());
  }

  minutes(): Minute[] {
    const last = this.#minuteNow();
    return Array.from({ length: KEPT_MINUTES }, (_, i) => {
      const minute = last - KEPT_MINUTES + 1 + i;
      const known = this.#figuresOf(minute);
      const isKnown =
        minute >= this.#startedMinute || known.started !== undefined || known.suspects !== undefined;
      const figures = { ...(isKnown ? NOTHING_HAPPENED : NOTHING_KNOWN), ...known };
      return { atMs: minute * MINUTE_MS, isKnown, ...figures };
    });
  }

  #minuteNow(): number {
    return Math.floor(this.#deps.now() / MINUTE_MS);
  }

  #add(figure: Figure, value: number, minute = this.#minuteNow()): void {
    let figures = this.#minutes.get(minute);
    if (figures === undefined) {
      this.#minutes.set(minute, (figures = {}));
      for (const kept of this.#minutes.keys()) {
        if (kept <= minute - KEPT_MINUTES) this.#minutes.delete(kept);
      }
    }
    const known = figures[figure] ?? 0;
    figures[figure] = FIGURES[figure] === 'sum' ? known + value : Math.max(known, value);
  }

  #figuresOf(minute: number): Figures {
    const p99Ms = this.#answers.get(minute)?.at(0.99) ?? null;
    return { ...this.#minutes.get(minute), ...(p99Ms === null ? {} : { p99Ms }) };
  }

  async #recall(): Promise<void> {
    const { reader, now, log } = this.#deps;
    try {
      const sinceMs = now() - KEPT_MINUTES * MINUTE_MS;
      for (const { minute, figures } of await reader.ask('notedMinutes', { sinceMs })) {
        for (const [figure, value] of Object.entries(figures)) {
          if (Object.hasOwn(FIGURES, figure)) this.#add(figure as Figure, value, minute);
        }
      }
    } catch (error) {
      log.warn({ err: error }, 'cannot read the values of before the start: the plots begin now');
    }
  }

  #sampled({ status, atMs }: SampledState): void {
    const minute = Math.floor(atMs / MINUTE_MS);
    this.#add('pendingReads', status.pending_reads, minute);
    this.#add('suspects', status.suspect_count, minute);
    // What is not known yet of before must not be noted over.
    void this.#recalling?.then(() => this.#noteUpTo(minute - 1));
  }

  /** Never rejects: the next sample tries again. */
  async #noteUpTo(last: number): Promise<void> {
    for (let minute = this.#notNoted; minute <= last; minute += 1) {
      const figures = this.#figuresOf(minute);
      this.#answers.delete(minute);
      this.#notNoted = minute + 1;
      if (!this.#minutes.has(minute)) continue;
      this.#minutes.set(minute, figures);
      await this.#deps.writer.command('noteMinute', { minute, figures }).catch(() => undefined);
    }
  }
}

/** A gap that a read has answered, the last webhook of a level, or one during downtime. */
function isLoss(fact: Fact): boolean {
  if (fact.kind === 'gap_proved') return true;
  return fact.kind === 'drift' && (fact.cause === 'lost_tail' || fact.cause === 'downtime');
}

const NAMES = Object.keys(FIGURES) as Figure[];
const everyFigure = (valueOf: (name: Figure) => number | null) =>
  Object.fromEntries(NAMES.map((name) => [name, valueOf(name)])) as Record<Figure, number | null>;
const NOTHING_KNOWN = everyFigure(() => null);
const NOTHING_HAPPENED = everyFigure((name) => (FIGURES[name] === 'sum' ? 0 : null));
