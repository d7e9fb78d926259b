/** The requests to the store's API with their answers, for the people who write the programs that send them. */

/** A text that may be too long to be kept whole. */
export interface Cut {
  readonly text: string;
  /** How many characters or bytes were left out. */
  readonly more: number;
}

export interface Call {
  readonly id: number;
  /** Base clock. */
  readonly atMs: number;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  body: Cut;
  /** null: not yet, or the connection was cut. */
  answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly text: Cut;
  } | null;
  /** From the request to its answer or its cut connection; null until then. */
  ms: number | null;
}

/** A mirror reads product after product: that must not push out the few orders. */
const KEPT_PER_PATH = 100;
const PATHS_KEPT = 50;
const LONGEST = 32_768;

export class CallLog {
  readonly #byPath = new Map<string, Call[]>();
  readonly #now: () => number;
  #count = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Latest first. */
  get recent(): readonly Call[] {
    return [...this.#byPath.values()].flat().toSorted((a, b) => b.id - a.id);
  }

  find(id: number): Call | undefined {
    return this.recent.find((call) => call.id === id);
  }

  open(asked: Pick<Call, 'method' | 'target' | 'headers'>): Call {
    const id = (this.#count += 1);
    const call: Call = {
      id,
      atMs: this.#now(),
      ...asked,
      body: { text: '', more: 0 },
      answer: null,
      ms: null,
    };
    const path = pathOf(call);
    // Invented paths share a place, so that they cannot fill the memory.
    const key = this.#byPath.has(path) || this.#byPath.size < PATHS_KEPT ? path : '';
    const kept = this.#byPath.get(key) ?? [];
    this.#byPath.set(key, kept);
    kept.push(call);
    if (kept.length > KEPT_PER_PATH) kept.shift();
    return call;
  }

  received(call: Call, raw: Buffer): void {
    const text = raw.subarray(0, LONGEST).toString('utf8');
    call.body = { text, more: Math.max(0, raw.length - LONGEST) };
  }

  answered(call: Call, status: number, headers: Readonly<Record<string, string>>, text: string): void {
    // A slice of a string keeps the whole of it in memory.
    const kept = text.length <= LONGEST ? text : Buffer.from(text.slice(0, LONGEST)).toString();
    call.answer = { status, headers, text: { text: kept, more: Math.max(0, text.length - LONGEST) } };
    call.ms = this.#now() - call.atMs;
  }

  /** The connection was cut in place of an answer. */
  cut(call: Call): void {
    call.ms = this.#now() - call.atMs;
  }
}

export function pathOf({ target }: Pick<Call, 'target'>): string {
  return target.split('?', 1)[0] ?? '';
}
