/** The requests to the store's API with their answers, for the people who write the programs that send them. */

/** A fault that was switched on, or what was wrong with the request. */
interface Trouble {
  readonly words: string;
  readonly isFault: boolean;
}

interface CallAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: Cut;
}

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
  /** Path and query. Like headers and body it may hold secrets of the caller: see `Confidential`. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  body: Cut;
  /** Null: not yet, or the connection was cut. */
  answer: CallAnswer | null;
  /** Until the answer; null: not yet. */
  ms: number | null;
  trouble: Trouble | null;
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
    return [...this.#byPath.values()].flat().find((call) => call.id === id);
  }

  open(asked: Pick<Call, 'method' | 'target' | 'headers'>): Call {
    const call: Call = {
      id: (this.#count += 1),
      atMs: this.#now(),
      ...asked,
      body: { text: '', more: 0 },
      answer: null,
      ms: null,
      trouble: null,
    };
    const path = pathOf(call);
    const known = this.#byPath.get(path) ?? [];
    // Invented paths share a place, so that they cannot fill the memory.
    const kept = known.length > 0 || this.#byPath.size < PATHS_KEPT ? known : (this.#byPath.get('') ?? []);
    this.#byPath.set(kept === known ? path : '', kept);
    kept.push(call);
    if (kept.length > KEPT_PER_PATH) kept.shift();
    return call;
  }

  /** What the caller sent. */
  received(call: Call, raw: Buffer): void {
    call.body = {
      text: raw.subarray(0, LONGEST).toString('utf8'),
      more: Math.max(0, raw.length - LONGEST),
    };
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
    call.trouble = { words: 'the connection was cut instead of an answer', isFault: true };
  }
}

export function pathOf({ target }: Pick<Call, 'target'>): string {
  return target.split('?', 1)[0] ?? '';
}
