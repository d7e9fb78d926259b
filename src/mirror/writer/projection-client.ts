/** The projection as seen from the other threads: promises that resolve once something is applied. */
import { Slots } from '../../platform/slots.ts';
import type { Applied, FromProjection, Opened, ToProjection } from './apply-loop.ts';
import type { CommandArgs, CommandName, CommandResult } from './commands.ts';
import { asPassing, StoreError, type PlainError } from '../../sqlite/errors.ts';
import type { Outcome } from '../../sqlite/outcome.ts';
import type { BranchCounts, Report } from './projection.ts';
import type { OpenOptions } from './own-mirror.ts';
import type { ApplyListener } from './store-writer.ts';
import type { Thread } from '../../platform/thread.ts';
import type { WalNews } from './upkeep.ts';

interface ProjectionEvents {
  readonly onNews: (news: WalNews) => void;
  readonly onApplyNews: (news: ApplyNews) => void;
}

/** Worth a person's attention: once when it begins, once when it ends. */
export interface ApplyNews {
  /** null once it is over */
  readonly error: StoreError | null;
  readonly message: string;
}

/** Why a thread of the mirror has ended. */
export interface ThreadFailure {
  readonly error: StoreError;
  /** The mirror's file must not be used again. */
  readonly isDamaged: boolean;
}

const STUCK =
  'the mirror’s tables cannot be written: deliveries are kept in the event log, and applied as soon as the tables can be written';
const GOES_ON = 'the mirror’s tables are written again: what waited in the event log is being applied';

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: StoreError) => void;
}

/** After a transaction that could not be committed, the next attempt. */
const RETRY_MS = 250;
/** Of the time that a process has to end. */
const LEAVE_AFTER_MS = 1_000;

const REPORTS_KEPT = 512;

const NOTHING_TO_REPORT = { facts: [], detailLost: false, failed: null } as const;

export class ProjectionClient {
  readonly #onNews: ProjectionEvents['onNews'];
  readonly #onApplyNews: ProjectionEvents['onApplyNews'];
  readonly #waiting = new Slots<Waiting>();
  /** By the position of the entry that they wait for. */
  readonly #entries = new Map<number, Waiting[]>();
  /** The last ones, by their entries. */
  readonly #recent = new Map<number, Report>();
  readonly #listeners = new Set<ApplyListener>();
  /** null between two threads */
  #thread: Thread<ToProjection, FromProjection> | null = null;
  #lastSeq = 0;
  #appliedSeq = 0;
  #changeSeq = 0;
  /** Reports up to here were passed on: a new mirror applies some entries again. */
  #toldSeq = 0;
  #stuck: StoreError | null = null;
  /** Why no thread runs at present. */
  #down: StoreError | null = null;
  #retry: NodeJS.Timeout | undefined;
  #ended: StoreError | null = null;
  #leaving: NodeJS.Timeout | undefined;
  #left: StoreError | null = null;

  constructor({ onNews, onApplyNews }: ProjectionEvents) {
    this.#onNews = onNews;
    this.#onApplyNews = onApplyNews;
  }

  /**
   * Opens the mirror's file on a thread of its own.
   *
   * @param lastSeq of the event log.
   * @param onFailed called once when the thread has ended, asked to or not.
   */
  start(
    thread: Thread<ToProjection, FromProjection>,
    { lastSeq, ...options }: { readonly lastSeq: number } & OpenOptions,
    onFailed: (why: ThreadFailure) => void,
  ): Promise<Opened> {
    this.#lastSeq = Math.max(this.#lastSeq, lastSeq);
    this.#thread = thread;
    let failure: ThreadFailure | null = null;
    const opening = Promise.withResolvers<Opened>();
    opening.promise.catch(() => undefined);
    thread.onMessage((message) => {
      if (message.type === 'failed') {
        failure = { error: errorOf(message.error), isDamaged: message.isDamaged };
      } else if (message.type === 'opened') {
        this.#toldSeq = Math.max(this.#toldSeq, message.position.appliedSeq);
        this.#changeSeq = message.position.changeSeq;
        this.#settleEntries(message.position.appliedSeq, []);
        opening.resolve(message);
      } else this.#take(message);
    });
    thread.onEnd((cause) => {
      this.#thread = null;
      clearTimeout(this.#retry);
      const message = `the mirror’s writing thread has ended: ${cause.message}`;
      const why = failure ?? { error: new StoreError('cannot_commit', message, { cause }), isDamaged: false };
      opening.reject(why.error);
      this.#rejectCommands(this.#ended ?? asPassing(why.error));
      onFailed(why);
    });
    thread.post({ type: 'open', lastSeq: this.#lastSeq, ...options });
    return opening.promise;
  }

  /** The mirror is open again, or cannot be had for this reason. */
  set down(why: StoreError | null) {
    this.#down = why;
    if (why === null) this.#goOn();
    else this.#getStuck(why);
  }

  /** Asks the thread to end, if there is one. */
  end(): void {
    this.#thread?.post({ type: 'close' });
  }

  /** The last number of the change feed. */
  get changeSeq(): number {
    return this.#changeSeq;
  }

  /** The last entry of the event log that the tables hold. */
  get appliedSeq(): number {
    return this.#appliedSeq;
  }

  /** Why nothing is applied at present; null: nothing is in the way. */
  get stuck(): StoreError | null {
    return this.#stuck;
  }

  /** Calls the listener after every transaction, in their order. @returns a function that stops it. */
  onApplied(listener: ApplyListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** There are entries up to here. @param waiting how many deliveries waited for their commit. */
  apply(lastSeq: number, waiting: number): void {
    if (lastSeq <= this.#lastSeq) return;
    this.#lastSeq = lastSeq;
    this.#thread?.post({ type: 'apply', lastSeq, waiting });
  }

  /** Resolves once the entry is applied. To be called as soon as its position is known. @throws StoreError */
  applied(seq: number): Promise<Omit<Report, 'seq'>> {
    if (seq <= this.#appliedSeq) return Promise.resolve(this.#recent.get(seq) ?? NOTHING_TO_REPORT);
    const over = this.#ended ?? this.#left;
    if (over !== null) return Promise.reject(over);
    return new Promise((resolve, reject) => {
      const waiting = { resolve, reject };
      const others = this.#entries.get(seq);
      if (others === undefined) this.#entries.set(seq, [waiting]);
      else others.push(waiting);
    });
  }

  /** Runs it once everything is applied that is in the event log now. @throws StoreError */
  command<N extends CommandName>(name: N, args: CommandArgs<N>, afterSeq: number): Promise<CommandResult<N>> {
    if (this.#left !== null) return Promise.reject(this.#left);
    return this.#post((id) => ({ type: 'command', command: { id, name, args, afterSeq } }));
  }

  branchCounts(): Promise<BranchCounts> {
    return this.#post((id) => ({ type: 'counts', id }));
  }

  /** What is not applied soon is applied after the next start: nobody waits for it any longer. */
  leave(): void {
    if (this.#ended !== null || this.#leaving !== undefined) return;
    this.#leaving = setTimeout(() => {
      this.#left = new StoreError('closed', 'the mirror stops before its tables could be written');
      // The commands' numbers stay taken: the thread may still answer them.
      for (const [, waiting] of this.#waiting.entries()) waiting.reject(this.#left);
      this.#rejectEntries(this.#left);
    }, LEAVE_AFTER_MS);
  }

  /** Nothing is applied any more, and whoever waits is told so. */
  close(): void {
    const error = new StoreError('closed', 'the database is closed');
    this.#ended = error;
    clearTimeout(this.#retry);
    clearTimeout(this.#leaving);
    this.#rejectCommands(error);
    this.#rejectEntries(error);
  }

  #post<T>(message: (id: number) => ToProjection): Promise<T> {
    const over = this.#ended ?? this.#down;
    if (over !== null) return Promise.reject(over);
    const thread = this.#thread;
    if (thread === null) return Promise.reject(new StoreError('cannot_commit', 'the mirror is being opened'));
    return new Promise<T>((resolve, reject) => {
      thread.post(message(this.#waiting.put({ resolve, reject })));
    });
  }

  #take(message: Exclude<FromProjection, { type: 'opened' | 'failed' }>): void {
    switch (message.type) {
      case 'applied':
        this.#goOn();
        this.#changeSeq = message.changeSeq;
        this.#settleEntries(message.appliedSeq, message.reports);
        for (const outcome of message.outcomes) this.#settle(outcome);
        // After all of them are settled: a listener that fails keeps no caller waiting.
        this.#tell(message);
        return;
      case 'stuck':
        this.#getStuck(errorOf(message.error));
        for (const outcome of message.outcomes) this.#settle(outcome);
        clearTimeout(this.#retry);
        this.#retry = setTimeout(
          () => this.#thread?.post({ type: 'apply', lastSeq: this.#lastSeq, waiting: 0 }),
          RETRY_MS,
        ).unref();
        return;
      case 'outcome':
        this.#settle(message.outcome);
        return;
      case 'news':
        message.news.forEach(this.#onNews);
    }
  }

  #tell({ appliedSeq, reports }: Applied): void {
    const toldSeq = this.#toldSeq;
    this.#toldSeq = Math.max(toldSeq, appliedSeq);
    const untold = reports.some(({ seq }) => seq <= toldSeq)
      ? reports.filter(({ seq }) => seq > toldSeq)
      : reports;
    for (const listener of this.#listeners) listener({ appliedSeq, reports: untold });
  }

  #getStuck(error: StoreError): void {
    if (this.#stuck === null) this.#onApplyNews({ error, message: STUCK });
    this.#stuck = error;
  }

  #goOn(): void {
    if (this.#stuck === null || this.#down !== null) return;
    this.#stuck = null;
    this.#onApplyNews({ error: null, message: GOES_ON });
  }

  #settleEntries(appliedSeq: number, reports: readonly Report[]): void {
    this.#appliedSeq = appliedSeq;
    for (const report of reports) {
      const all = this.#entries.get(report.seq) ?? [];
      this.#entries.delete(report.seq);
      for (const waiting of all) waiting.resolve(report as never);
      this.#remember(report);
    }
    for (const [seq, all] of this.#entries) {
      if (seq > appliedSeq) continue;
      this.#entries.delete(seq);
      for (const waiting of all) waiting.resolve(NOTHING_TO_REPORT as never);
    }
  }

  #remember(report: Report): void {
    this.#recent.set(report.seq, report);
    if (this.#recent.size <= REPORTS_KEPT) return;
    const [oldest] = this.#recent.keys();
    if (oldest !== undefined) this.#recent.delete(oldest);
  }

  #settle(outcome: Outcome): void {
    const waiting = this.#waiting.take(outcome.id);
    if (outcome.ok) waiting?.resolve(outcome.value as never);
    else waiting?.reject(errorOf(outcome.error));
  }

  #rejectCommands(error: StoreError): void {
    for (const waiting of this.#waiting.takeAll()) waiting.reject(error);
  }

  #rejectEntries(error: StoreError): void {
    for (const all of this.#entries.values()) for (const waiting of all) waiting.reject(error);
    this.#entries.clear();
  }
}

function errorOf({ kind, message }: PlainError): StoreError {
  return new StoreError(kind, message);
}
