/** The members of the cluster, polled every 2 s. */
import { rest } from '../platform/sleep.ts';
import { membersIn, NOBODY, TELL_EVERY_MS, type Members } from './presence.ts';
import { LEASE_MS, TransportError, type Notes } from './transport.ts';

export class Neighbours {
  readonly #notes: Notes;
  #members = NOBODY;
  /** On the monotonic clock; null: never. */
  #heardMs: number | null = null;
  #hearsSinceMs: number | null = null;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** As of the last poll that was answered; none once its announcements would have expired. */
  get members(): Members {
    return this.#isHearing() ? this.#members : NOBODY;
  }

  /** Since when the others are heard without a break, on the monotonic clock; null: they are not. */
  get hearsSinceMs(): number | null {
    return this.#isHearing() ? this.#hearsSinceMs : null;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const members = await membersIn(this.#notes);
        if (!this.#isHearing()) this.#hearsSinceMs = performance.now();
        this.#members = members;
        this.#heardMs = performance.now();
      } catch (error) {
        // One failed look is no reason to take nobody else to be there.
        if (!(error instanceof TransportError)) throw error;
      }
      await rest(TELL_EVERY_MS, signal);
    }
  }

  #isHearing(): boolean {
    return this.#heardMs !== null && performance.now() - this.#heardMs < LEASE_MS;
  }
}
