/** If a thread fails, both restart after a pause, and the start rule recovers the file (docs/architecture.md#start). */
import { EARLIEST_MS } from '../core/limits.ts';
import { StoreError } from '../sqlite/errors.ts';
import { Requests, type Asked } from '../sqlite/worker.ts';
import type { QueryArgs, QueryName, QueryResult } from './reader/queries.ts';
import type { QueryCalls } from './reader/serve-queries.ts';
import type { NewEpoch, StartOptions } from './start.ts';
import type { AppliedInput, NewInput, Position } from './writer/applier.ts';
import type { CommandArgs, CommandName, CommandResult } from './writer/commands.ts';
import type { ApplyCalls, ApplyEvent } from './writer/serve-apply.ts';

export type ApplyThread = Asked<ApplyCalls, ApplyEvent>;
export type QueryThread = Asked<QueryCalls, never>;

export type ApplyOptions = Omit<StartOptions, 'nowMs'>;

export interface MirrorThreads {
  apply(options: ApplyOptions): ApplyThread;
  query(): QueryThread;
}

export interface MirrorEvents {
  readonly onOpened: (newEpoch: NewEpoch | null) => void;
  readonly onFault: (fault: StoreError | null) => void;
}

export type ApplyListener = (applied: { readonly reports: readonly AppliedInput[] }) => void;

export type StoreReader = Pick<Mirror, 'ask'>;
export type StoreWriter = Pick<Mirror, 'append' | 'command' | 'onApplied' | 'fault' | 'position'>;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const RECOVERED_MS = 60_000;

interface Running {
  readonly apply: Requests<ApplyCalls, ApplyEvent>;
  readonly query: Requests<QueryCalls, never>;
  openedAtMs: number | null;
}

const NOWHERE: Position = { inboxSeq: 0, inputSeq: 0, changeSeq: 0, trustedAfterMs: EARLIEST_MS };

export class Mirror {
  readonly #threads: MirrorThreads;
  readonly #events: MirrorEvents;
  readonly #listeners = new Set<ApplyListener>();
  readonly #opened = Promise.withResolvers<void>();
  readonly #tried = Promise.withResolvers<void>();
  #running: Running | null = null;
  #position = NOWHERE;
  /** Kept until the first successful transaction, because some faults show only at a commit. */
  #fault: StoreError | null = null;
  #isSuspect = false;
  #inboxEndSeq: number | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #again: NodeJS.Timeout | undefined;
  #closing: Promise<void> | null = null;

  constructor(threads: MirrorThreads, events: MirrorEvents) {
    this.#threads = threads;
    this.#events = events;
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
  get fault(): StoreError | null {
    return this.#fault;
  }

  get isOpen(): boolean {
    return this.#running !== null && this.#running.openedAtMs !== null;
  }

  get position(): Position {
    return this.#position;
  }

  open(inboxEndSeq: number): void {
    this.#inboxEndSeq = inboxEndSeq;
    this.#opened.promise.catch(() => undefined);
    this.#start();
  }

  arrived(): void {
    this.#running?.apply.call('arrived', undefined).catch(() => undefined);
  }

  /** Resolves once the input is applied and on disk. @throws StoreError; the input is then never applied. */
  async append(input: NewInput): Promise<AppliedInput> {
    return this.#serving().apply.call('input', input);
  }

  async command<N extends CommandName>(name: N, args: CommandArgs<N>): Promise<CommandResult<N>> {
    return (await this.#serving().apply.call('command', { name, args })) as CommandResult<N>;
  }

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
      void running[name].exited.then(({ message }) => {
        const error = new StoreError('closed', `the mirror’s ${name} thread has ended: ${message}`);
        this.#fail(running, error, false);
      });
    }
  }

  #take(running: Running, event: ApplyEvent): void {
    if (running !== this.#running) return;
    switch (event.type) {
      case 'opened':
        running.openedAtMs = performance.now();
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
      case 'failed':
        this.#fail(running, new StoreError(event.error.kind, event.error.message), event.isDamage);
    }
  }

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
