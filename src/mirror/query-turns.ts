/** The order in which the query thread is asked: whatever readers ask, the mirror's own queries are answered first. */
import type { QueryName } from './reader/queries.ts';

/** Asked by the reconciler, and for each heartbeat: if they waited, due reads would, and readers would see `stale`. */
const OWN: ReadonlySet<QueryName> = new Set<QueryName>([
  'absentProducts',
  'areBundlesDue',
  'catalogueOutlook',
  'failureOf',
  'latestChanged',
  'nextReads',
  'productsOfVariants',
  'runAfterBarrier',
  'runById',
  'runningRuns',
  'searchFacts',
  'stateFacts',
  'unreadSince',
  'verificationOutlook',
  'wayIn',
]);

/** One that the thread works on, and the next, so that it never waits for this thread. */
const AT_ONCE = 2;

export class QueryTurns {
  #underWay = 0;
  readonly #own: (() => void)[] = [];
  readonly #others: (() => void)[] = [];

  /** Asks once it is the query's turn. */
  async take<T>(name: QueryName, ask: () => Promise<T>): Promise<T> {
    if (this.#underWay < AT_ONCE) this.#underWay += 1;
    else await new Promise<void>((resolve) => (OWN.has(name) ? this.#own : this.#others).push(resolve));
    try {
      return await ask();
    } finally {
      this.#pass();
    }
  }

  #pass(): void {
    const next = this.#own.shift() ?? this.#others.shift();
    if (next === undefined) this.#underWay -= 1;
    else next();
  }
}
