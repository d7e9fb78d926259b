/** Counters fed by others' counts: the writer counts merge rules, the database counts ended runs. */
import type { Counter } from 'prom-client';
import type { Store } from '../../mirror/store.ts';
import type { BranchCounts } from '../../mirror/writer/applier.ts';
import type { Counting } from './counting.ts';

interface TalliesDeps {
  readonly store: Pick<Store, 'reader' | 'writer'>;
  readonly counting: Counting;
}

export class Tallies {
  readonly #deps: TalliesDeps;
  #branches: BranchCounts = {};
  /** Runs up to this one are counted, or ended before this process started. */
  #runsAfterId: number | null = null;
  readonly #countedRuns = new Set<number>();
  #underWay: Promise<void> | null = null;

  constructor(deps: TalliesDeps) {
    this.#deps = deps;
  }

  /** Updates the counters. The first call must come before any run can end. @throws StoreError */
  update(): Promise<void> {
    return (this.#underWay ??= this.#update().finally(() => {
      this.#underWay = null;
    }));
  }

  async settled(): Promise<void> {
    await Promise.allSettled([this.#underWay]);
  }

  async #update(): Promise<void> {
    const { store } = this.#deps;
    this.#runsAfterId ??= await store.reader.ask('runOutcomesStart');
    this.#countBranches(await store.writer.branchCounts());
    await this.#countRuns(this.#runsAfterId);
  }

  /** The writer counts from the start of the process; counters need the increase. */
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
