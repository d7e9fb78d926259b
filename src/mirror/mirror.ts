/**
 * The mirror as the rest of the program sees it: inputs and commands go to the apply thread, queries to the query thread.
 * When either fails, both are ended and started again after a pause; the start is the only recovery
 * (docs/architecture.md#start). Deliveries are accepted meanwhile: nothing here is on their way.
 */
import { StoreError } from '../sqlite/errors.ts';
import { Requests, type Asked } from '../sqlite/worker.ts';
import type { QueryArgs, QueryName, QueryResult } from './reader/queries.ts';
import type { QueryCalls } from './reader/serve-queries.ts';
import type { NewEpoch } from './start.ts';
import type { AppliedInput, NewInput, Position } from './writer/applier.ts';
import type { CommandArgs, CommandName, CommandResult } from './writer/commands.ts';
import type { ApplyCalls, ApplyEvent } from './writer/serve-apply.ts';

export type ApplyThread = Asked<ApplyCalls, ApplyEvent>;
export type QueryThread = Asked<QueryCalls, never>;

/** What a start of the mirror goes by, besides its files (start.ts). */
export interface ApplyOptions {
  readonly isSuspect: boolean;
  readonly inboxEndSeq: number | null;
}

export interface MirrorThreads {
  apply(options: ApplyOptions): ApplyThread;
  query(): QueryThread;
}

/** What the mirror's owner hears. */
export interface MirrorEvents {
  /** The mirror is open, for the first time or again. */
  readonly onOpened: (newEpoch: NewEpoch | null) => void;
  /** Once for each fault; null: the mirror works again. */
  readonly onFault: (fault: StoreError | null) => void;
  readonly onHeldBack: (held: { readonly walBytes: number; readonly pages: number }) => void;
}

export type ApplyListener = (applied: { readonly reports: readonly AppliedInput[] }) => void;

/** What reads the mirror. */
export type StoreReader = Pick<Mirror, 'ask'>;
/** What writes it, and how far it is. */
export type StoreWriter = Pick<Mirror, 'append' | 'command' | 'onApplied' | 'fault' | 'position' | 's0'>;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A mirror that worked for this long has recovered. */
const RECOVERED_MS = 60_000;

interface Running {
  readonly apply: Requests<ApplyCalls, ApplyEvent>;
  readonly query: Requests<QueryCalls, never>;
  openedAtMs: number | null;
}

const NOWHERE: Position = { inboxSeq: 0, inputSeq: 0, changeSeq: 0 };

export class Mirror {
  readonly #threads: MirrorThreads;
  readonly #events: MirrorEvents;
  readonly #now: () => number;
  readonly #listeners = new Set<ApplyListener>();
  readonly #opened = Promise.withResolvers<void>();
  readonly #tried = Promise.withResolvers<void>();
  #running: Running | null = null;
  #position = NOWHERE;
  /** Until a transaction has succeeded after it: some faults show only at the first commit. */
  #fault: StoreError | null = null;
  #isSuspect = false;
  #inboxEndSeq: number | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #again: NodeJS.Timeout | undefined;
  #closing: Promise<void> | null = null;
  /** Inputs that were begun before this are of another opening: their numbers mean nothing now. */
  #openedAtMs = Number.NEGATIVE_INFINITY;

  /** @param now the process's clock, which stamps what is read. */
  constructor(threads: MirrorThreads, events: MirrorEvents, now: () => number) {
    this.#threads = threads;
    this.#events = events;
    this.#now = now;
  }

  /** Resolves once the mirror is open for the first time; rejects when it is closed before. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Resolves once the mirror is open, or its first opening has failed. */
  get tried(): Promise<void> {
    return this.#tried.promise;
  }

  /** Why nothing is applied at present; null: the mirror works, or is being opened for the first time. */
  get fault(): StoreError | null {
    return this.#fault;
  }

  get isOpen(): boolean {
    return this.#running !== null && this.#running.openedAtMs !== null;
  }

  /** As of the last transaction. */
  get position(): Position {
    return this.#position;
  }

  /** The number of the last input applied: a read sent now has seen no later one. */
  get s0(): number {
    return this.#position.inputSeq;
  }

  /** @param inboxEndSeq the last row of the inbox when it was opened. */
  open(inboxEndSeq: number): void {
    this.#inboxEndSeq = inboxEndSeq;
    this.#opened.promise.catch(() => undefined);
    this.#start();
  }

  /** The inbox has new rows. */
  arrived(): void {
    this.#running?.apply.call('arrived', undefined).catch(() => undefined);
  }

  /** Resolves once it is applied and on disk. @throws StoreError; then nothing of it is applied, now or later. */
  async append(input: NewInput): Promise<AppliedInput> {
    const apply = this.#serving().apply;
    if ('sentAtMs' in input && input.sentAtMs < this.#openedAtMs) {
      throw new StoreError('closed', 'the mirror was opened again after this was read: it is read again');
    }
    return apply.call('input', input);
  }

  /** @throws StoreError */
  async command<N extends CommandName>(name: N, args: CommandArgs<N>): Promise<CommandResult<N>> {
    return (await this.#serving().apply.call('command', { name, args })) as CommandResult<N>;
  }

  /** @throws StoreError */
  async ask<N extends QueryName>(
    name: N,
    ...args: QueryArgs<N> extends undefined ? [] : [QueryArgs<N>]
  ): Promise<QueryResult<N>> {
    if (this.#fault === null) await this.#tried.promise;
    const running = this.#serving();
    try {
      return (await running.query.call('query', { name, args: args[0] })) as QueryResult<N>;
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'damaged') this.#fail(running, error, true);
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
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearTimeout(this.#again);
    const running = this.#running;
    this.#running = null;
    const closed = new StoreError('closed', 'the mirror is closed');
    this.#opened.reject(closed);
    this.#tried.resolve();
    if (running === null) return;
    await running.query.call('close', undefined).catch(() => undefined);
    await running.apply.call('close', undefined).catch(() => undefined);
    await Promise.all([running.query.stop(closed), running.apply.stop(closed)]);
  }

  #serving(): Running {
    if (this.#closing !== null) throw new StoreError('closed', 'the mirror is closed');
    const isOpening = this.#running?.openedAtMs === null;
    if (this.#fault !== null && (this.#running === null || isOpening)) throw this.#fault;
    if (this.#running === null) throw new StoreError('closed', 'the mirror is not open');
    return this.#running;
  }

  #start(): void {
    const running: Running = {
      apply: new Requests(
        this.#threads.apply({ isSuspect: this.#isSuspect, inboxEndSeq: this.#inboxEndSeq }),
        (event: ApplyEvent) => this.#take(running, event),
      ),
      query: new Requests(this.#threads.query(), () => undefined),
      openedAtMs: null,
    };
    this.#running = running;
    for (const name of ['apply', 'query'] as const) {
      void running[name].exited.then(({ message }) =>
        this.#fail(
          running,
          new StoreError('closed', `the mirror’s ${name} thread has ended: ${message}`),
          false,
        ),
      );
    }
  }

  #take(running: Running, event: ApplyEvent): void {
    if (running !== this.#running) return;
    switch (event.type) {
      case 'opened':
        running.openedAtMs = performance.now();
        this.#openedAtMs = this.#now();
        this.#isSuspect = false;
        this.#inboxEndSeq = null;
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
      case 'held_back':
        this.#events.onHeldBack(event);
        return;
      case 'failed':
        this.#fail(running, new StoreError(event.error.kind, event.error.message), event.isDamage);
    }
  }

  /** Ends both threads and starts them again after a pause. */
  #fail(running: Running, error: StoreError, isDamage: boolean): void {
    if (running !== this.#running || this.#closing !== null) return;
    this.#running = null;
    this.#isSuspect ||= isDamage;
    const hasWorked = running.openedAtMs !== null && performance.now() - running.openedAtMs > RECOVERED_MS;
    if (hasWorked) this.#pauseMs = FIRST_PAUSE_MS;
    if (this.#fault?.message !== error.message) {
      this.#fault = error;
      this.#events.onFault(error);
    }
    this.#tried.resolve();
    const restart = async (): Promise<void> => {
      await Promise.all([running.apply.stop(error), running.query.stop(error)]);
      if (this.#closing !== null) return;
      this.#again = setTimeout(() => this.#start(), this.#pauseMs);
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    };
    void restart();
  }
}
