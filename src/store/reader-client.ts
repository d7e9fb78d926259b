/** The reader as seen from the other threads. */
import { Slots } from '../slots.ts';
import { StoreError } from './errors.ts';
import type { QueryArgs, QueryName, QueryResult } from './queries/index.ts';
import type { ToReader } from './read-loop.ts';
import type { StoreReader } from './store.ts';
import type { Thread } from './thread.ts';
import type { Outcome } from './outcome.ts';

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: StoreError) => void;
}

export class ReaderClient implements StoreReader {
  readonly #thread: Thread<ToReader, Outcome>;
  readonly #waiting = new Slots<Waiting>();
  #ended: StoreError | null = null;
  readonly #exited = Promise.withResolvers<void>();

  /** @param onDeath called when the thread ends without having been asked to. */
  constructor(thread: Thread<ToReader, Outcome>, onDeath: (error: Error) => void) {
    this.#thread = thread;
    thread.onMessage((outcome) => {
      const waiting = this.#waiting.take(outcome.id);
      if (outcome.ok) waiting?.resolve(outcome.value as never);
      else waiting?.reject(new StoreError(outcome.error.kind, outcome.error.message));
    });
    thread.onEnd((cause) => {
      this.#exited.resolve();
      if (this.#ended !== null) return;
      this.#end(
        new StoreError('closed', `the database's reader thread has ended: ${cause.message}`, { cause }),
      );
      onDeath(cause);
    });
  }

  ask<N extends QueryName>(
    name: N,
    ...args: QueryArgs<N> extends undefined ? [] : [QueryArgs<N>]
  ): Promise<QueryResult<N>> {
    return this.#post(name, args[0]);
  }

  async close(): Promise<void> {
    if (this.#ended !== null) return;
    // Set first: a thread that ends because it was asked to is no failure.
    this.#end(new StoreError('closed', 'the database is closed'));
    this.#thread.post({ id: 0, name: null, args: undefined });
    await this.#exited.promise;
  }

  #post<T>(name: QueryName, args: unknown): Promise<T> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise<T>((resolve, reject) => {
      this.#thread.post({ id: this.#waiting.put({ resolve, reject }), name, args });
    });
  }

  #end(error: StoreError): void {
    this.#ended = error;
    for (const waiting of this.#waiting.takeAll()) waiting.reject(error);
  }
}
