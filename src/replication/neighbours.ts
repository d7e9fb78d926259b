/** The members of the cluster, polled every 2 s. */
import { rest } from '../platform/sleep.ts';
import { membersIn, NOBODY, TELL_EVERY_MS, type Members } from './presence.ts';
import { TransportError, type Notes } from './transport.ts';

export class Neighbours {
  readonly #notes: Notes;
  #members = NOBODY;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** As of the last poll; none while the engine cannot be reached. */
  get members(): Members {
    return this.#members;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.#members = await membersIn(this.#notes);
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        this.#members = NOBODY;
      }
      await rest(TELL_EVERY_MS, signal);
    }
  }
}
