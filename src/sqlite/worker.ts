/** Typed requests to a thread that owns a database connection: one reply for each, and events in between. */
import type { Owner, Thread } from '../platform/thread.ts';
import { SqliteFault, type PlainError } from './errors.ts';

type Call = { readonly args: unknown; readonly result: unknown };

/** At `end`, the thread closes its connections as they are, and ends. */
export type Calls = Readonly<Record<string, Call>> & { readonly end: Call };

export type Request<C extends Calls> = {
  [N in keyof C & string]: { readonly id: number; readonly name: N; readonly args: C[N]['args'] };
}[keyof C & string];

export type Reply<E> =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: PlainError }
  | { readonly event: E };

export type Asked<C extends Calls, E> = Thread<Request<C>, Reply<E>>;
export type Answering<C extends Calls, E> = Owner<Request<C>, Reply<E>>;

/** Longer than queries take, and openings that do not check or migrate a large file. */
const ENDS_WITHIN_MS = 60_000;

interface Pending {
  readonly resolve: (value: never) => void;
  readonly reject: (error: SqliteFault) => void;
}

export class Requests<C extends Calls, E> {
  readonly #thread: Asked<C, E>;
  readonly #pending = new Map<number, Pending>();
  readonly #exited = Promise.withResolvers<SqliteFault>();
  #nextId = 0;
  #ended: SqliteFault | null = null;

  constructor(thread: Asked<C, E>, onEvent: (event: E) => void) {
    this.#thread = thread;
    thread.onMessage((reply) => {
      if ('event' in reply) {
        onEvent(reply.event);
        return;
      }
      const pending = this.#pending.get(reply.id);
      this.#pending.delete(reply.id);
      if ('error' in reply) pending?.reject(new SqliteFault(reply.error.kind, reply.error.message));
      else pending?.resolve(reply.value as never);
    });
    thread.onEnd((cause) => this.#end(new SqliteFault('closed', cause.message, { cause })));
  }

  /** Resolves once the thread has ended, asked to or not. */
  get exited(): Promise<SqliteFault> {
    return this.#exited.promise;
  }

  /** @throws SqliteFault */
  call<N extends keyof C & string>(name: N, args: C[N]['args']): Promise<C[N]['result']> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      this.#pending.set(id, { resolve, reject });
      this.#thread.post({ id, name, args });
    });
  }

  /**
   * Rejects what is asked, and lets the thread close its connections. Terminating a thread within SQLite may end the whole
   * process: only a thread that does not end in time is terminated.
   */
  async stop(why: SqliteFault): Promise<void> {
    this.#fail(why);
    this.#thread.post({ id: this.#nextId++, name: 'end', args: undefined });
    const timer = setTimeout(() => void this.#thread.stop(), ENDS_WITHIN_MS);
    await this.exited;
    clearTimeout(timer);
  }

  /** The thread's owner learns of its end before the callers do. */
  #end(error: SqliteFault): void {
    this.#exited.resolve(error);
    this.#fail(error);
  }

  #fail(error: SqliteFault): void {
    this.#ended ??= error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
