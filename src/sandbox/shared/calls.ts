export interface Call {
  readonly id: number;
  readonly atMs: number;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  body: string;
  answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly text: string;
  } | null;
  /** From the request to its answer or cut connection; null until then. */
  ms: number | null;
}

/** Separate limits, so that a mirror's many reads do not push out the few orders. */
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

  get recent(): readonly Call[] {
    return [...this.#byPath.values()].flat().toSorted((a, b) => b.id - a.id);
  }

  open(asked: Pick<Call, 'method' | 'target' | 'headers'>): Call {
    const call: Call = {
      id: (this.#count += 1),
      atMs: this.#now(),
      ...asked,
      body: '',
      answer: null,
      ms: null,
    };
    const path = pathOf(call);
    // Further paths share one place, so that they cannot fill the memory.
    const key = this.#byPath.has(path) || this.#byPath.size < PATHS_KEPT ? path : '';
    const kept = this.#byPath.get(key) ?? [];
    this.#byPath.set(key, kept);
    kept.push(call);
    if (kept.length > KEPT_PER_PATH) kept.shift();
    return call;
  }

  received(call: Call | undefined, raw: Buffer): void {
    if (call !== undefined) call.body = cut(raw.toString('utf8'));
  }

  ended(call: Call | undefined, answer: Call['answer']): void {
    if (call === undefined) return;
    call.answer = answer && { ...answer, text: cut(answer.text) };
    call.ms = this.#now() - call.atMs;
  }
}

export function pathOf({ target }: Pick<Call, 'target'>): string {
  return target.split('?', 1)[0] ?? '';
}

function cut(text: string): string {
  if (text.length <= LONGEST) return text;
  // A slice keeps the whole string in memory.
  return `${Buffer.from(text.slice(0, LONGEST)).toString()}\n… and ${text.length - LONGEST} more`;
}
