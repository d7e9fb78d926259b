/** The products of each class of change rate, in the order in which the schedule reads them. */
import type { Candidate, Candidates } from '../../core/freshness/read-plan.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import {
  candidateOf,
  COUNTED_COLUMNS,
  countedOf,
  type Counted,
  type ReadKnowledge,
} from './read-knowledge.ts';

/** More counted products than this in a row are not passed over for a quiet one. */
const PASSED_OVER = 5_000;

interface From {
  readonly db: Db;
  readonly known: ReadKnowledge;
  readonly quietClass: number;
}

/** The products of each class, in the order of the plan; the quiet ones in that of their reads. */
export class CandidateStreams implements Candidates {
  readonly classes: readonly number[];
  readonly #db: Db;
  readonly #known: ReadKnowledge;
  readonly #quietClass: number;
  readonly #streams = new Map<number, IterableIterator<Counted>>();
  readonly #quiet: IterableIterator<Pick<Counted, 'productId' | 'certainAtMs'>>;
  /** Taken off its stream, and behind the other of its class. */
  readonly #waiting = new Map<'counted' | 'quiet', Candidate & { readonly certainAtMs: number }>();

  /** They are open as long as `use` runs: nothing may be written to their tables meanwhile. */
  static during<T>(from: From, use: (streams: Candidates) => T): T {
    const streams = new CandidateStreams(from);
    try {
      return use(streams);
    } finally {
      streams.#close();
    }
  }

  private constructor({ db, known, quietClass }: From) {
    this.#db = db;
    this.#known = known;
    this.#quietClass = quietClass;
    const classes = Array.from(known.countOfClass.keys()).filter((i) => (known.countOfClass[i] ?? 0) > 0);
    this.classes = [...new Set([...classes, quietClass])];
    for (const rateClass of classes) {
      // A statement of its own for each, since they are open side by side.
      const stream = known.tables.prepare<[number], Counted>(
        `SELECT ${COUNTED_COLUMNS} FROM counted WHERE rate_class = ? ORDER BY certain_at_ms`,
      );
      this.#streams.set(rateClass, stream.iterate(rateClass));
    }
    this.#quiet = db
      .prepare<[], Pick<Counted, 'productId' | 'certainAtMs'>>(
        `SELECT product_id AS productId, read_at_ms AS certainAtMs FROM products
         WHERE gone_at_ms IS NULL AND read_at_ms > 0 ORDER BY read_at_ms`,
      )
      .iterate();
  }

  next(rateClass: number): Candidate | null {
    if (rateClass !== this.#quietClass) return this.#nextCounted(rateClass);
    const counted = this.#waiting.get('counted') ?? this.#nextCounted(rateClass);
    const quiet = this.#waiting.get('quiet') ?? this.#nextQuiet();
    this.#waiting.clear();
    if (counted === null || quiet === null) return counted ?? quiet;
    const isQuietFirst = quiet.certainAtMs < counted.certainAtMs;
    if (isQuietFirst) this.#waiting.set('counted', counted);
    else this.#waiting.set('quiet', quiet);
    return isQuietFirst ? quiet : counted;
  }

  #close(): void {
    for (const stream of this.#streams.values()) stream.return?.();
    this.#quiet.return?.();
  }

  #nextCounted(rateClass: number): (Candidate & { readonly certainAtMs: number }) | null {
    const stream = this.#streams.get(rateClass);
    for (let one = stream?.next(); one?.done === false; one = stream?.next()) {
      const candidate = candidateOf(this.#db, one.value);
      if (candidate === null || isRequested(this.#db, candidate.productId)) continue;
      return { ...candidate, certainAtMs: one.value.certainAtMs };
    }
    return null;
  }

  #nextQuiet(): (Candidate & { readonly certainAtMs: number }) | null {
    for (let passed = 0; passed < PASSED_OVER; passed++) {
      const one = this.#quiet.next();
      if (one.done === true) return null;
      const { productId, certainAtMs } = one.value;
      if (countedOf(this.#known, productId) !== undefined || isRequested(this.#db, productId)) continue;
      const candidate = candidateOf(this.#db, { productId, changes: 0, changedAtMs: certainAtMs });
      if (candidate !== null) return { ...candidate, certainAtMs };
    }
    return null;
  }
}

function isRequested(db: Db, productId: string): boolean {
  return (
    prepared<[string]>(db, 'SELECT 1 FROM read_requests WHERE product_id = ?').get(productId) !== undefined
  );
}
