/** The reader as seen from the other threads. */
import { Slots } from '../../platform/slots.ts';
import { StoreError } from '../../sqlite/errors.ts';
import type { Refusal } from '../file/refusal.ts';
import type { QueryArgs, QueryName, QueryResult } from './queries.ts';
import type { ToReader } from './read-loop.ts';
import type { StoreReader } from './store-reader.ts';
import type { Thread } from '../../platform/thread.ts';
import type { Outcome } from '../../sqlite/outcome.ts';

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: StoreError) => void;
}

export class ReaderClient implements StoreReader {
  readonly #thread: Thread<ToReader, Outcome>;
  readonly #waiting = new Slots<Waiting>();
  #ended: StoreError | null = null;
  readonly #onLost: (why: Refusal) => void;
  readonly #exited = Promise.withResolvers<void>();

  /**
   * @param onDeath called when the thread ends without having been asked to.
   * @param onLost called when a query meets damage in the mirror's file.
   */
  constructor(
    thread: Thread<ToReader, Outcome>,
    onDeath: (error: Error) => void,
    onLost: (why: Refusal) => void,
  ) {
    this.#thread = thread;
    this.#onLost = onLost;
    thread.onMessage((outcome) => this.#settle(outcome));
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
    return this.#post((id) => ({ id, type: 'query', name, args: args[0] }));
  }

  /** Resolves once the mirror's file is closed: the next query opens what is there then. */
  async letGo(): Promise<void> {
    await this.#post<unknown>((id) => ({ id, type: 'let_go' }));
  }

  async close(): Promise<void> {
    if (this.#ended !== null) return;
    // Set first: a thread that ends because it was asked to is no failure.
    this.#end(new StoreError('closed', 'the database is closed'));
    this.#thread.post({ id: 0, type: 'close' });
    await this.#exited.promise;
  }

  #settle(outcome: Outcome): void {
    const waiting = this.#waiting.take(outcome.id);
    if (outcome.ok) {
      waiting?.resolve(outcome.value as never);
      return;
    }
    const error = new StoreError(outcome.error.kind, outcome.error.message);
    waiting?.reject(error);
    if (error.kind === 'damaged' && this.#ended === null) this.#onLost({ error, isDamaged: true });
  }

  #post<T>(message: (id: number) => ToReader): Promise<T> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise<T>((resolve, reject) => {
      this.#thread.post(message(this.#waiting.put({ resolve, reject })));
    });
  }

  #end(error: StoreError): void {
    this.#ended = error;
    for (const waiting of this.#waiting.takeAll()) waiting.reject(error);
  }
}
