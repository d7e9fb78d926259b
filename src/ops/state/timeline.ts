/** The last day minute by minute, for the plots: in memory, and past minutes also in the mirror. */
import { isFullRead } from '../../core/runs.ts';
import { MOST_COUNTED } from '../../mirror/file/suspicion.ts';
import type { MirrorReader, MirrorWriter } from '../../mirror/mirror.ts';
import type { Logger } from '../../platform/log.ts';
import type { StateSampler } from './state-sampler.ts';

/** Joins the values of several minutes, or of two processes within one minute. */
export const MEASURES = {
  deliveries: 'sum',
  refused: 'sum',
  slowestMs: 'largest',
  requests: 'sum',
  lost: 'sum',
  pendingReads: 'largest',
  suspects: 'largest',
  starts: 'sum',
  fullReads: 'sum',
} as const;

export type Measure = keyof typeof MEASURES;
export type Minute = Partial<Record<Measure, number>>;

export interface TimelineDeps {
  readonly reader: MirrorReader;
  readonly writer: Pick<MirrorWriter, 'command' | 'onApplied'>;
  readonly sampler: Pick<StateSampler, 'onSample'>;
  readonly now: () => number;
  readonly log: Logger;
}

const MINUTE_MS = 60_000;
const KEPT_MINUTES = 24 * 60;

export class Timeline {
  readonly #deps: TimelineDeps;
  /** By minutes since 1970; each minute with a running mirror has a sample. */
  readonly #minutes = new Map<number, Minute>();
  #nextNoted: number;
  #noting: Promise<void> = Promise.resolve();
  #stopListening: (() => void) | null = null;

  constructor(deps: TimelineDeps) {
    this.#deps = deps;
    this.#nextNoted = this.#minuteNow();
    deps.sampler.onSample(({ status }) => {
      this.#add('pendingReads', status.pending_reads);
      this.#add('suspects', status.suspect_count ?? MOST_COUNTED + 1);
      this.#noteUpTo(this.#minuteNow() - 1);
    });
  }

  answered(answers: {
    readonly deliveries: number;
    readonly refused: number;
    readonly slowestMs: number | null;
  }): void {
    const { deliveries, refused, slowestMs } = answers;
    if (deliveries > 0) this.#add('deliveries', deliveries);
    if (refused > 0) this.#add('refused', refused);
    if (slowestMs !== null) this.#add('slowestMs', slowestMs);
  }

  asked(): void {
    this.#add('requests', 1);
  }

  start(): void {
    this.#add('starts', 1);
    this.#stopListening = this.#deps.writer.onApplied(({ reports }) => {
      const facts = reports.flatMap((report) => report.facts);
      const lost = facts.filter(({ kind }) => kind === 'gap_proved').length;
      const fullReads = facts.filter((fact) => fact.kind === 'run_begun' && isFullRead(fact.run)).length;
      if (lost > 0) this.#add('lost', lost);
      if (fullReads > 0) this.#add('fullReads', fullReads);
    });
    // Before any minute is noted, since noting a minute replaces it.
    this.#noting = this.#recall();
  }

  async stop(): Promise<void> {
    if (this.#stopListening === null) return;
    this.#stopListening();
    this.#noteUpTo(this.#minuteNow());
    await this.#noting;
  }

  /** Oldest first; null if no mirror ran. The last minute is not over yet. */
  minutes(): (Minute | null)[] {
    const first = this.#minuteNow() - KEPT_MINUTES + 1;
    return Array.from({ length: KEPT_MINUTES }, (_, at) => this.#minutes.get(first + at) ?? null);
  }

  #minuteNow(): number {
    return Math.floor(this.#deps.now() / MINUTE_MS);
  }

  #add(measure: Measure, value: number, minute = this.#minuteNow()): void {
    let values = this.#minutes.get(minute);
    if (values === undefined) {
      this.#minutes.set(minute, (values = {}));
      for (const kept of this.#minutes.keys()) {
        if (kept <= minute - KEPT_MINUTES) this.#minutes.delete(kept);
      }
    }
    const known = values[measure] ?? 0;
    values[measure] = MEASURES[measure] === 'sum' ? known + value : Math.max(known, value);
  }

  async #recall(): Promise<void> {
    const { reader, now, log } = this.#deps;
    try {
      const sinceMs = now() - KEPT_MINUTES * MINUTE_MS;
      for (const { minute, values } of await reader.ask('notedMinutes', { sinceMs })) {
        for (const [measure, value] of Object.entries(values)) {
          if (Object.hasOwn(MEASURES, measure)) this.#add(measure as Measure, value, minute);
        }
      }
    } catch (error) {
      log.warn({ err: error }, 'cannot read the earlier minutes: the plots begin at this start');
    }
  }

  #noteUpTo(last: number): void {
    for (; this.#nextNoted <= last; this.#nextNoted += 1) {
      const minute = this.#nextNoted;
      // A failed write only leaves a gap in the plots after a restart.
      this.#noting = this.#noting.then(async () => {
        const values = this.#minutes.get(minute);
        if (values === undefined) return;
        await this.#deps.writer.command('noteMinute', { minute, values }).catch(() => undefined);
      });
    }
  }
}
