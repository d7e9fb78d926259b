/**
 * Asks the store for figures now and then, so that a scrape asks nothing. The longer a question takes, the more rarely
 * it is asked: the reader's thread has better things to do.
 */
import type { Counter } from 'prom-client';
import type { Logger } from '../../log.ts';
import type { Doubts, Gauges } from '../../store/queries/gauges.ts';
import type { Store } from '../../store/store.ts';
import type { BranchCounts } from '../../store/writer.ts';
import type { Counting } from './counting.ts';

export interface SamplerDeps {
  readonly store: Store;
  readonly counting: Counting;
  readonly now: () => number;
  readonly log: Logger;
}

const EVERY_MS = 10_000;
/** A question may take one part in this many of the reader's time. */
const SHARE = 50;

export class Sampler {
  readonly #deps: SamplerDeps;
  #gauges: Gauges | null = null;
  #doubts: Doubts | null = null;
  #sampledAtMs: number | null = null;
  #pauseMs = EVERY_MS;
  /** On the monotonic clock. */
  #nextDoubtsMs = Number.NEGATIVE_INFINITY;
  #branches: BranchCounts = {};
  /** Runs up to here are counted, or ended before this process began. */
  #runsAfterId: number | null = null;
  readonly #countedRuns = new Set<number>();
  #timer: NodeJS.Timeout | null = null;
  #underWay: Promise<void> | null = null;
  #stopped = false;

  constructor(deps: SamplerDeps) {
    this.#deps = deps;
  }

  get gauges(): Gauges | null {
    return this.#gauges;
  }

  get doubts(): Doubts | null {
    return this.#doubts;
  }

  get sampledAtMs(): number | null {
    return this.#sampledAtMs;
  }

  start(): void {
    void this.#again();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#underWay;
  }

  /** Never rejects. */
  async #again(): Promise<void> {
    this.#underWay = this.#sample().catch((error: unknown) => {
      if (!this.#stopped)
        this.#deps.log.warn({ err: error }, 'cannot ask the store for the metrics’ figures');
    });
    await this.#underWay;
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#again(), this.#pauseMs);
    this.#timer.unref();
  }

  async #sample(): Promise<void> {
    const { store, now } = this.#deps;
    // First of all: what begins from here on is to be counted when it ends.
    this.#runsAfterId ??= await store.reader.ask('runOutcomesStart');
    const beganMs = performance.now();
    this.#gauges = await store.reader.ask('gauges');
    this.#sampledAtMs = now();
    this.#pauseMs = Math.max(EVERY_MS, (performance.now() - beganMs) * SHARE);
    await this.#sampleDoubts();
    this.#countBranches(await store.writer.branchCounts());
    await this.#countRuns(this.#runsAfterId);
  }

  async #sampleDoubts(): Promise<void> {
    const beganMs = performance.now();
    if (beganMs < this.#nextDoubtsMs) return;
    this.#doubts = await this.#deps.store.reader.ask('doubts');
    const endedMs = performance.now();
    this.#nextDoubtsMs = endedMs + (endedMs - beganMs) * SHARE;
  }

  /** The writer counts since the process began; counters want what was added. */
  #countBranches(counts: BranchCounts): void {
    const { changes, levels } = this.#deps.counting;
    const families: Readonly<Record<string, Readonly<Record<string, Counter.Internal>>>> = {
      change: changes,
      level: levels,
    };
    for (const [name, count] of Object.entries(counts)) {
      const [family = '', branch = ''] = name.split(': ');
      families[family]?.[branch]?.inc(count - (this.#branches[name] ?? 0));
    }
    this.#branches = counts;
  }

  async #countRuns(afterId: number): Promise<void> {
    const { store, counting } = this.#deps;
    let allBeforeEnded = true;
    for (const { id, kind, state } of await store.reader.ask('runOutcomes', { afterId })) {
      if (state === 'running') {
        allBeforeEnded = false;
        continue;
      }
      if (!this.#countedRuns.has(id)) counting.runs.labels(kind, state).inc();
      if (allBeforeEnded) {
        this.#runsAfterId = id;
        this.#countedRuns.delete(id);
      } else this.#countedRuns.add(id);
    }
  }
}
