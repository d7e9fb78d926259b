/** The reader as seen from the other threads. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { StoreError } from './errors.ts';
import type { QueryArgs, QueryName, QueryResult } from './queries/index.ts';
import type { ToReader } from './reader-thread.ts';
import type { StoreReader } from './store.ts';
import { workerUrl } from './worker-url.ts';
import type { Outcome } from './writer-thread.ts';

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: StoreError) => void;
}

export class ReaderClient implements StoreReader {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #ended: StoreError | null = null;

  /** @param onDeath told when the thread ends without having been asked to. */
  constructor(path: string, onDeath: (error: Error) => void) {
    this.#worker = new Worker(workerUrl('reader-thread', import.meta.url), { workerData: { path } });
    this.#worker.on('message', (outcome: Outcome) => {
      const waiting = this.#waiting.get(outcome.id);
      this.#waiting.delete(outcome.id);
      if (outcome.ok) waiting?.resolve(outcome.value as never);
      else waiting?.reject(new StoreError(outcome.error.kind, outcome.error.message));
    });
    const die = (cause: Error): void => {
      if (this.#ended !== null) return;
      this.#end(new StoreError('closed', `the store's reader has ended: ${cause.message}`, { cause }));
      onDeath(cause);
    };
    this.#worker.on('error', die);
    this.#worker.on('exit', (code) => die(new Error(`exit code ${code}`)));
  }

  ask<N extends QueryName>(
    name: N,
    ...args: QueryArgs<N> extends undefined ? [] : [QueryArgs<N>]
  ): Promise<QueryResult<N>> {
    return this.#post(name, args[0]);
  }

  async close(): Promise<void> {
    if (this.#ended !== null) return;
    // Marked first: a thread that ends because it was asked to is no death.
    this.#end(new StoreError('closed', 'the store is closed'));
    const exited = once(this.#worker, 'exit');
    this.#worker.postMessage({ id: 0, name: null, args: undefined } satisfies ToReader);
    await exited;
  }

  #post<T>(name: QueryName, args: unknown): Promise<T> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const id = this.#nextId++;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, name, args } satisfies ToReader);
    });
  }

  #end(error: StoreError): void {
    this.#ended = error;
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
