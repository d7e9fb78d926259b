/** Reads the mirror's counts. The longer the query takes, the more rarely it runs, to keep this thread free. */
import type { Logger } from '../../platform/log.ts';
import type { StateSample, Status } from '../../mirror/queries/status.ts';
import type { MirrorReader } from '../../mirror/mirror.ts';

export interface SampledState extends StateSample {
  readonly atMs: number;
}

interface StateSamplerDeps {
  readonly reader: MirrorReader;
  readonly now: () => number;
  readonly log: Logger;
}

const EVERY_MS = 10_000;
/** Sampling may take 1 / SHARE of the reader's time. */
const SHARE = 50;
/** Requests do not repeat a slower query. */
const QUICK_MS = 50;

export class StateSampler {
  readonly #deps: StateSamplerDeps;
  readonly #listeners = new Set<(sample: SampledState) => void>();
  #last: SampledState | null = null;
  #underWay: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(deps: StateSamplerDeps) {
    this.#deps = deps;
  }

  /** null before the first sample. */
  get last(): SampledState | null {
    return this.#last;
  }

  onSample(listener: (sample: SampledState) => void): void {
    this.#listeners.add(listener);
  }

  /** While counting takes long, the counts are those of the last sample. @throws SqliteFault */
  async status(): Promise<Status> {
    const last = this.#last;
    if (last === null || last.tookMs < QUICK_MS) return (await this.#sample()).status;
    return { ...last.status, ...(await this.#deps.reader.ask('glance')) };
  }

  start(): void {
    void this.#again();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#underWay;
  }

  async #again(): Promise<void> {
    this.#underWay = this.#sample().catch((error: unknown) => {
      if (this.#stopped) return;
      this.#deps.log.warn(
        { err: error },
        'cannot read the counts from the mirror: metrics and plots show the last ones',
      );
    });
    await this.#underWay;
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#again(), Math.max(EVERY_MS, (this.#last?.tookMs ?? 0) * SHARE));
    this.#timer.unref();
  }

  async #sample(): Promise<SampledState> {
    const { reader, now } = this.#deps;
    const atMs = now();
    const sample = { ...(await reader.ask('stateSample')), atMs };
    this.#last = sample;
    for (const listener of this.#listeners) listener(sample);
    return sample;
  }
}
