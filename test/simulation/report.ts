/** What a run has found and done. */
const FAULTS_KEPT = 20;

interface ReportOptions {
  readonly sinceMs: () => number;
  readonly trace: ((line: string) => void) | undefined;
}

export class Report {
  readonly #faults: string[] = [];
  readonly #counts = new Map<string, number>();
  readonly #options: ReportOptions;

  constructor(options: ReportOptions) {
    this.#options = options;
  }

  get faults(): readonly string[] {
    return this.#faults;
  }

  get hasFault(): boolean {
    return this.#faults.length > 0;
  }

  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The story damaged a page of a file. */
  get isFlipped(): boolean {
    return [...this.#counts.keys()].some((what) => what.startsWith('files: flipped '));
  }

  has(what: string): boolean {
    return this.#counts.has(what);
  }

  readonly count = (what: string, times = 1): void => {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  };

  readonly fault = (what: string): void => {
    if (this.#faults.length >= FAULTS_KEPT) return;
    this.trace(`FAULT ${what}`);
    this.#faults.push(what);
  };

  readonly trace = (line: string): void => {
    this.#options.trace?.(`${(this.#options.sinceMs() / 1_000).toFixed(3)} ${line}`);
  };
}

export function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
