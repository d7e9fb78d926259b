/** Ends a comparison with a store that cannot be read: without its answers there is no verdict. */
import { messageOf } from '../../platform/thrown.ts';
import { ServiceError } from '../../store-api/transport/errors.ts';

const GIVE_UP_AFTER_MS = 30_000;
/** Failures that are answers: the store can be read. */
const ANSWERED: ReadonlySet<string> = new Set(['rejected', 'too_large', 'rate_limited']);

export class GiveUp {
  readonly #give: (error: Error) => void;
  /** Runs since the first failure after the last answer. */
  #timer: NodeJS.Timeout | null = null;

  /** @param give called once when no request has been answered for 30 s. */
  constructor(give: (error: Error) => void) {
    this.#give = give;
  }

  async watch<T>(request: () => Promise<T>): Promise<T> {
    try {
      const answer = await request();
      this.stop();
      return answer;
    } catch (error) {
      if (error instanceof ServiceError && ANSWERED.has(error.kind)) this.stop();
      else this.#begin(error);
      throw error;
    }
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #begin(error: unknown): void {
    const why = error instanceof ServiceError ? `${error.endpoint}: ${error.description}` : messageOf(error);
    const text = `no verdict: the store could not be read for ${GIVE_UP_AFTER_MS / 1_000} s (${why})`;
    this.#timer ??= setTimeout(() => this.#give(new Error(text)), GIVE_UP_AFTER_MS);
  }
}
