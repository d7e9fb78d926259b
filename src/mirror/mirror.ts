/**
 * The mirror: a thread that writes its file, and queries of this one. If the thread fails, or the file, it is
 * started again after a pause, and the start rule recovers the file (docs/architecture.md#start).
 */
import { setImmediate as turn } from 'node:timers/promises';
import { SqliteFault } from '../sqlite/errors.ts';
import { Requests, type Asked } from '../sqlite/worker.ts';
import type { Db } from '../sqlite/open.ts';
import type { QueryArgs, QueryName, QueryResult } from './reader/queries.ts';
import { Reader } from './reader/reader.ts';
import type { DamagedFile, NewEpoch, FileOpening } from './start.ts';
import type { AppliedInput, NewInput, AppliedPosition } from './writer/applier.ts';
import type { CommandArgs, CommandName, CommandResult } from './writer/commands.ts';
import type { ApplyCalls, ApplyEvent } from './writer/serve-apply.ts';

export type ApplyThread = Asked<ApplyCalls, ApplyEvent>;

export interface MirrorFiles {
  apply(opening: FileOpening): ApplyThread;
  openReader(): Db;
}

export interface MirrorEvents {
  readonly onOpened: (newEpoch: NewEpoch | null) => void;
  readonly onFault: (fault: SqliteFault | null) => void;
}

export type ApplyListener = (applied: { readonly reports: readonly AppliedInput[] }) => void;

export type MirrorReader = Pick<Mirror, 'ask'>;
export type MirrorWriter = Pick<Mirror, 'append' | 'command' | 'onApplied' | 'fault' | 'position'>;

const FIRST_PAUSE_MS = 1_000;
/** A start costs little, and readers wait for it once the fault is over. */
const LONGEST_PAUSE_MS = 10_000;
/** A failure after this time of work is a new one: the pauses begin with the shortest. */
const RECOVERED_MS = 60_000;

type Apply = Requests<ApplyCalls, ApplyEvent>;

/** Asked by the reconciler, and for each heartbeat: if they waited, due reads would, and readers would see `stale`. */
const OWN_QUERIES: ReadonlySet<QueryName> = new Set<QueryName>([
  'absentProducts',
  'areBundlesDue',
  'catalogueOutlook',
  'failureOf',
  'latestChanged',
  'nextReads',
  'productsOfVariants',
  'runAfterBarrier',
  'runById',
  'runningRuns',
  'searchFacts',
  'stateFacts',
  'unreadSince',
  'verificationOutlook',
  'wayIn',
]);

type Phase =
  | { readonly name: 'opening'; readonly apply: Apply }
  | {
      readonly name: 'serving';
      readonly apply: Apply;
      /** By the monotonic clock. */
      readonly openedAtMs: number;
    }
  /** The thread has ended; the timer starts it again. */
  | { readonly name: 'failed'; readonly timer: NodeJS.Timeout | null }
  | { readonly name: 'closed'; readonly done: Promise<void> };

interface Failure {
  readonly apply: Apply;
  readonly error: SqliteFault;
  readonly damaged?: DamagedFile | null;
  /** `close` applies what waits, as at a stop. */
  readonly end?: typeof close;
}

const NOWHERE: AppliedPosition = { inboxSeq: 0, inputSeq: 0, changeSeq: 0 };

export class Mirror {
  readonly #files: MirrorFiles;
  readonly #events: MirrorEvents;
  readonly #now: () => number;
  readonly #listeners = new Set<ApplyListener>();
  readonly #tried = Promise.withResolvers<void>();
  readonly #reader: Reader;
  /** The last query that waits for its turn. */
  #lastTurn: Promise<unknown> = Promise.resolve();
  #phase: Phase = { name: 'failed', timer: null };
  #position = NOWHERE;
  /** Kept until the first successful transaction, because some faults show only at a commit. */
  #fault: SqliteFault | null = null;
  /** Found by the last failure; the next opening takes account of it. */
  #damaged: DamagedFile | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  /** Resolves once the thread that failed has ended. */
  #ended = Promise.resolve();

  constructor(files: MirrorFiles, events: MirrorEvents, now: () => number) {
    this.#files = files;
    this.#reader = new Reader(() => files.openReader());
    this.#events = events;
    this.#now = now;
  }

  /** Resolves once the first opening has succeeded or failed. */
  get tried(): Promise<void> {
    return this.#tried.promise;
  }

  /** null if the mirror works, or is being opened for the first time. */
  get fault(): SqliteFault | null {
    return this.#fault;
  }

  get position(): AppliedPosition {
    return this.#position;
  }

  open(): void {
    this.#start();
  }

  /** The inbox may have new rows. */
  arrived(): void {
    this.#running()
      ?.call('arrived', undefined)
      .catch(() => undefined);
  }

  /** Ends the thread and opens the file again, by the start rule. */
  reopen(why: SqliteFault): void {
    const apply = this.#running();
    if (apply !== null) this.#fail({ apply, error: why, end: close });
  }

  /**
   * Resolves once the input is applied and on disk. @throws SqliteFault; if the thread failed at that moment,
   * the input may have been applied.
   */
  async append(input: NewInput): Promise<AppliedInput> {
    const apply = this.#serving();
    if ('sentAtMs' in input && input.sentAtMs > this.#now()) {
      throw new SqliteFault('closed', 'the clock stepped back after this was read: it is read again');
    }
    return apply.call('input', input);
  }

  async command<N extends CommandName>(name: N, args: CommandArgs<N>): Promise<CommandResult<N>> {
    return (await this.#serving().call('command', { name, args })) as CommandResult<N>;
  }

  async ask<N extends QueryName>(
    name: N,
    ...args: QueryArgs<N> extends undefined ? [] : [QueryArgs<N>]
  ): Promise<QueryResult<N>> {
    if (this.#fault === null) await this.#tried.promise;
    // Each turn of the event loop answers one query of a reader, so that the mirror's own queries never wait for many.
    if (!OWN_QUERIES.has(name)) await (this.#lastTurn = this.#lastTurn.then(() => turn()));
    return this.#answer(name, args[0]) as QueryResult<N>;
  }

  #answer(name: QueryName, args: unknown): unknown {
    const apply = this.#serving();
    try {
      return this.#reader.answer(name, args);
    } catch (error) {
      if (error instanceof SqliteFault && error.kind === 'damaged') {
        this.#fail({ apply, error, damaged: 'mirror' });
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
    const apply = this.#running();
    if (this.#phase.name === 'failed' && this.#phase.timer !== null) clearTimeout(this.#phase.timer);
    const closed = new SqliteFault('closed', 'the mirror is closed');
    this.#reader.close();
    const done = apply === null ? this.#ended : close(apply, closed);
    this.#phase = { name: 'closed', done };
    this.#tried.resolve();
    return done;
  }

  #running(): Apply | null {
    const phase = this.#phase;
    return phase.name === 'opening' || phase.name === 'serving' ? phase.apply : null;
  }

  /** The thread that answers, or will once the file is open for the first time. @throws SqliteFault */
  #serving(): Apply {
    const phase = this.#phase;
    switch (phase.name) {
      case 'serving':
        return phase.apply;
      case 'opening':
        if (this.#fault !== null) throw this.#fault;
        return phase.apply;
      case 'failed':
        throw this.#fault ?? new SqliteFault('closed', 'the mirror is not open');
      case 'closed':
        throw new SqliteFault('closed', 'the mirror is closed');
    }
  }

  #start(): void {
    const apply: Apply = new Requests(
      this.#files.apply({ nowMs: this.#now(), damaged: this.#damaged }),
      (event: ApplyEvent) => this.#take(apply, event),
    );
    this.#phase = { name: 'opening', apply };
    void apply.exited.then(({ message }) => {
      const error = new SqliteFault('closed', `the mirror’s apply thread has ended: ${message}`);
      this.#fail({ apply, error });
    });
  }

  #take(apply: Apply, event: ApplyEvent): void {
    if (apply !== this.#running()) return;
    switch (event.type) {
      case 'opened':
        this.#phase = { name: 'serving', apply, openedAtMs: performance.now() };
        this.#damaged = null;
        this.#position = event.position;
        this.#tried.resolve();
        this.arrived();
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
          apply,
          error: new SqliteFault(event.error.kind, event.error.message),
          damaged: event.damaged,
        });
    }
  }

  #fail({ apply, error, damaged = null, end = stop }: Failure): void {
    if (apply !== this.#running()) return;
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
    this.#reader.close();
    this.#ended = end(apply, error);
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

function stop(apply: Apply, error: SqliteFault): Promise<void> {
  return apply.stop(error);
}

async function close(apply: Apply, closed: SqliteFault): Promise<void> {
  await apply.call('close', undefined).catch(() => undefined);
  await apply.stop(closed);
}
