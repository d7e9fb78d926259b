/** The reader as seen from the other threads. */
import { Slots } from '../../platform/slots.ts';
import { asPassing, StoreError } from '../../sqlite/errors.ts';
import type { ThreadFailure } from '../writer/projection-client.ts';
import type { QueryArgs, QueryName, QueryResult } from './queries.ts';
import type { ToReader } from './read-loop.ts';
import type { StoreReader } from './store-reader.ts';
import type { Thread } from '../../platform/thread.ts';
import type { Outcome } from '../../sqlite/outcome.ts';

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: StoreError) => void;
}

/** Nobody waits for the answer. */
const NOBODY = -1;

export class ReaderClient implements StoreReader {
  readonly #waiting = new Slots<Waiting>();
  /** null between two threads */
  #thread: Thread<ToReader, Outcome> | null = null;

  /** @param onFailed called once when the thread has ended, asked to or not. */
  start(thread: Thread<ToReader, Outcome>, onFailed: (why: ThreadFailure) => void): void {
    this.#thread = thread;
    let damage: StoreError | null = null;
    thread.onMessage((outcome) => {
      if (!outcome.ok && outcome.error.kind === 'damaged') {
        damage ??= new StoreError('damaged', outcome.error.message);
        this.end();
      }
      this.#settle(outcome);
    });
    thread.onEnd((cause) => {
      this.#thread = null;
      const error =
        damage ??
        new StoreError('cannot_commit', `the mirror’s reading thread has ended: ${cause.message}`, { cause });
      for (const waiting of this.#waiting.takeAll()) waiting.reject(asPassing(error));
      onFailed({ error, isDamaged: damage !== null });
    });
  }

  /** Asks the thread to end, if there is one. */
  end(): void {
    this.#thread?.post({ id: NOBODY, type: 'close' });
  }

  ask<N extends QueryName>(
    name: N,
    ...args: QueryArgs<N> extends undefined ? [] : [QueryArgs<N>]
  ): Promise<QueryResult<N>> {
    return this.#post((id) => ({ id, type: 'query', name, args: args[0] }));
  }

  #settle(outcome: Outcome): void {
    const waiting = this.#waiting.take(outcome.id);
    if (outcome.ok) {
      waiting?.resolve(outcome.value as never);
      return;
    }
    const { kind, message } = outcome.error;
    const error = new StoreError(kind, message);
    waiting?.reject(kind === 'damaged' ? asPassing(error) : error);
  }

  #post<T>(message: (id: number) => ToReader): Promise<T> {
    const thread = this.#thread;
    if (thread === null) return Promise.reject(new StoreError('closed', 'the database is closed'));
    return new Promise<T>((resolve, reject) => {
      thread.post(message(this.#waiting.put({ resolve, reject })));
    });
  }
}
