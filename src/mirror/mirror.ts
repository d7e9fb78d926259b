/**
 * The threads of the mirror. If one fails, both restart after a pause, and the start rule recovers the file
 * (docs/architecture.md#start).
 */
import { EARLIEST_MS } from '../core/limits.ts';
import { SqliteFault } from '../sqlite/errors.ts';
import { Requests, type Asked } from '../sqlite/worker.ts';
import { QueryTurns } from './query-turns.ts';
import type { QueryArgs, QueryName, QueryResult } from './reader/queries.ts';
import type { QueryCalls } from './reader/serve-queries.ts';
import type { DamagedFile, NewEpoch, Opening } from './start.ts';
import type { AppliedInput, NewInput, Position } from './writer/applier.ts';
import type { CommandArgs, CommandName, CommandResult } from './writer/commands.ts';
import type { ApplyCalls, ApplyEvent } from './writer/serve-apply.ts';

export type ApplyThread = Asked<ApplyCalls, ApplyEvent>;
export type QueryThread = Asked<QueryCalls, never>;

export interface MirrorThreads {
  apply(opening: Opening): ApplyThread;
  query(): QueryThread;
}

export interface MirrorEvents {
  readonly onOpened: (newEpoch: NewEpoch | null) => void;
  readonly onFault: (fault: SqliteFault | null) => void;
}

export type ApplyListener = (applied: { readonly reports: readonly AppliedInput[] }) => void;

export type MirrorReader = Pick<Mirror, 'ask'>;
export type MirrorWriter = Pick<Mirror, 'append' | 'command' | 'onApplied' | 'fault' | 'position'>;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A failure after this time of work is a new one: the pauses begin with the shortest. */
const RECOVERED_MS = 60_000;

interface Threads {
  readonly apply: Requests<ApplyCalls, ApplyEvent>;
  readonly query: Requests<QueryCalls, never>;
}

type Phase =
  | { readonly name: 'opening'; readonly threads: Threads }
  | {
      readonly name: 'serving';
      readonly threads: Threads;
      /** By the monotonic clock. */
      readonly openedAtMs: number;
    }
  /** The threads have ended; the timer starts them again. */
  | { readonly name: 'failed'; readonly timer: NodeJS.Timeout | null }
  | { readonly name: 'closed'; readonly done: Promise<void> };

interface Failure {
  readonly threads: Threads;
  readonly error: SqliteFault;
  readonly damaged?: DamagedFile | null;
  /** `closeThreads` applies what waits, as at a stop. */
  readonly end?: typeof closeThreads;
}

const NOWHERE: Position = { inboxSeq: 0, inputSeq: 0, changeSeq: 0, trustedAfterMs: EARLIEST_MS };

export class Mirror {
  readonly #threads: MirrorThreads;
  readonly #events: MirrorEvents;
  readonly #now: () => number;
  readonly #listeners = new Set<ApplyListener>();
  readonly #opened = Promise.withResolvers<void>();
  readonly #tried = Promise.withResolvers<void>();
  readonly #turns = new QueryTurns();
  #phase: Phase = { name: 'failed', timer: null };
  #position = NOWHERE;
  /** Kept until the first successful transaction, because some faults show only at a commit. */
  #fault: SqliteFault | null = null;
  /** Found by the last failure; the next opening takes account of it. */
  #damaged: DamagedFile | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  /** Resolves once the threads that failed have ended. */
  #ended = Promise.resolve();

  constructor(threads: MirrorThreads, events: MirrorEvents, now: () => number) {
    this.#threads = threads;
    this.#events = events;
    this.#now = now;
    this.#opened.promise.catch(() => undefined);
  }

  /** Resolves at the first opening; rejects if the mirror is closed before. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Resolves once the first opening has succeeded or failed. */
  get tried(): Promise<void> {
    return this.#tried.promise;
  }

  /** null if the mirror works, or is being opened for the first time. */
  get fault(): SqliteFault | null {
    return this.#fault;
  }

  get isOpen(): boolean {
    return this.#phase.name === 'serving';
  }

  get position(): Position {
    return this.#position;
  }

  open(): void {
    this.#start();
  }

  /** The inbox may have new rows. */
  arrived(): void {
    const threads = this.#running();
    threads?.apply.call('arrived', undefined).catch(() => undefined);
  }

  /** Ends the threads and opens the file again, by the start rule. */
  reopen(why: SqliteFault): void {
    const threads = this.#running();
    if (threads !== null) this.#fail({ threads, error: why, end: closeThreads });
  }

  /**
   * Resolves once the input is applied and on disk. @throws SqliteFault; if a thread failed at that moment,
   * the input may have been applied.
   */
  async append(input: NewInput): Promise<AppliedInput> {
    const { apply } = this.#serving();
    if ('sentAtMs' in input && input.sentAtMs > this.#now()) {
      throw new SqliteFault('closed', 'the clock stepped back after this was read: it is read again');
    }
    return apply.call('input', input);
  }

  async command<N extends CommandName>(name: N, args: CommandArgs<N>): Promise<CommandResult<N>> {
    return (await this.#serving().apply.call('command', { name, args })) as CommandResult<N>;
  }

  async ask<N extends QueryName>(
    name: N,
    ...args: QueryArgs<N> extends undefined ? [] : [QueryArgs<N>]
  ): Promise<QueryResult<N>> {
    if (this.#fault === null) await this.#tried.promise;
    return (await this.#turns.take(name, () => this.#query(name, args[0]))) as QueryResult<N>;
  }

  async #query(name: QueryName, args: unknown): Promise<unknown> {
    const threads = this.#serving();
    try {
      return await threads.query.call('query', { name, args });
    } catch (error) {
      if (error instanceof SqliteFault && error.kind === 'damaged') {
        this.#fail({ threads, error, damaged: 'mirror' });
      }
      throw error;
    }
  }

  /** Calls the listener after every transaction, in order. @returns a function that stops it. */
  onApplied(listener: ApplyListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Applies what is waiting, as far as time allows, and closes the file. */
  close(): Promise<void> {
    if (this.#phase.name === 'closed') return this.#phase.done;
    const threads = this.#running();
    if (this.#phase.name === 'failed' && this.#phase.timer !== null) clearTimeout(this.#phase.timer);
    const closed = new SqliteFault('closed', 'the mirror is closed');
    const done = threads === null ? this.#ended : closeThreads(threads, closed);
    this.#phase = { name: 'closed', done };
    this.#opened.reject(closed);
    this.#tried.resolve();
    return done;
  }

  #running(): Threads | null {
    const phase = this.#phase;
    return phase.name === 'opening' || phase.name === 'serving' ? phase.threads : null;
  }

  /** The threads that answer, or will once the file is open for the first time. @throws SqliteFault */
  #serving(): Threads {
    const phase = this.#phase;
    switch (phase.name) {
      case 'serving':
        return phase.threads;
      case 'opening':
        if (this.#fault !== null) throw this.#fault;
        return phase.threads;
      case 'failed':
        throw this.#fault ?? new SqliteFault('closed', 'the mirror is not open');
      case 'closed':
        throw new SqliteFault('closed', 'the mirror is closed');
    }
  }

  #start(): void {
    const threads: Threads = {
      apply: new Requests(
        this.#threads.apply({ nowMs: this.#now(), damaged: this.#damaged }),
        (event: ApplyEvent) => this.#take(threads, event),
      ),
      query: new Requests(this.#threads.query(), () => undefined),
    };
    this.#phase = { name: 'opening', threads };
    for (const name of ['apply', 'query'] as const) {
      void threads[name].exited.then(({ message }) => {
        const error = new SqliteFault('closed', `the mirror’s ${name} thread has ended: ${message}`);
        this.#fail({ threads, error });
      });
    }
  }

  #take(threads: Threads, event: ApplyEvent): void {
    if (threads !== this.#running()) return;
    switch (event.type) {
      case 'opened':
        this.#phase = { name: 'serving', threads, openedAtMs: performance.now() };
        this.#damaged = null;
        this.#position = event.position;
        this.#opened.resolve();
        this.#tried.resolve();
        this.#events.onOpened(event.newEpoch);
        return;
      case 'applied':
        this.#position = event.position;
        if (this.#fault !== null) {
          this.#fault = null;
          this.#events.onFault(null);
        }
        for (const listener of this.#listeners) listener({ reports: event.reports });
        return;
      case 'failed':
        this.#fail({
          threads,
          error: new SqliteFault(event.error.kind, event.error.message),
          damaged: event.damaged,
        });
    }
  }

  #fail({ threads, error, damaged = null, end = endThreads }: Failure): void {
    if (threads !== this.#running()) return;
    const phase = this.#phase;
    const hasWorked = phase.name === 'serving' && performance.now() - phase.openedAtMs > RECOVERED_MS;
    if (hasWorked) this.#pauseMs = FIRST_PAUSE_MS;
    this.#phase = { name: 'failed', timer: null };
    this.#damaged = damaged ?? this.#damaged;
    if (this.#fault?.message !== error.message) {
      this.#fault = error;
      this.#events.onFault(error);
    }
    this.#tried.resolve();
    this.#ended = end(threads, error);
    void this.#startAgain();
  }

  async #startAgain(): Promise<void> {
    await this.#ended;
    if (this.#phase.name !== 'failed') return;
    const timer = setTimeout(() => this.#start(), this.#pauseMs);
    this.#phase = { name: 'failed', timer };
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
  }
}

async function endThreads({ apply, query }: Threads, error: SqliteFault): Promise<void> {
  await Promise.all([apply.stop(error), query.stop(error)]);
}

async function closeThreads({ apply, query }: Threads, closed: SqliteFault): Promise<void> {
  await query.call('close', undefined).catch(() => undefined);
  await apply.call('close', undefined).catch(() => undefined);
  await Promise.all([query.stop(closed), apply.stop(closed)]);
}
