/** The projection as seen from the other threads: promises that resolve once something is applied. */
import { Slots } from '../../platform/slots.ts';
import type { Applied, FromProjection, ToProjection } from './apply-loop.ts';
import type { CommandArgs, CommandName, CommandResult } from './commands.ts';
import { StoreError, type PlainError } from '../../sqlite/errors.ts';
import type { Outcome } from '../../sqlite/outcome.ts';
import type { BranchCounts, Report } from './projection.ts';
import type { ApplyListener } from './store-writer.ts';
import type { Thread } from '../../platform/thread.ts';
import type { StoreNews } from './upkeep.ts';
import type { Refusal } from '../file/refusal.ts';

interface ProjectionEvents {
  /** The thread ended without having been asked to: the process cannot continue. */
  readonly onDeath: (error: Error) => void;
  /** The mirror's file is damaged, or no longer at its path. Nothing is applied until `open` is called again. */
  readonly onLost: (why: Refusal) => void;
  readonly onNews: (news: StoreNews) => void;
  readonly onApplyNews: (news: ApplyNews) => void;
}

/** Worth a person's attention: once when it begins, once when it ends. */
export interface ApplyNews {
  /** Null: it goes on. */
  readonly error: StoreError | null;
  readonly message: string;
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
  readonly #thread: Thread<ToProjection, FromProjection>;
  readonly #onLost: ProjectionEvents['onLost'];
  readonly #onNews: ProjectionEvents['onNews'];
  readonly #onApplyNews: ProjectionEvents['onApplyNews'];
  readonly #waiting = new Slots<Waiting>();
  /** Who waits for an entry to be applied, by its position: whoever wrote it, and whoever copies what comes after it. */
  readonly #entries = new Map<number, Waiting[]>();
  /** The last ones, by their entries. */
  readonly #recent = new Map<number, Report>();
  readonly #listeners = new Set<ApplyListener>();
  #lastSeq = 0;
  #appliedSeq = 0;
  /** Up to here its reports were told: a mirror that is made anew applies again what was applied before. */
  #toldSeq = 0;
  #stuck: StoreError | null = null;
  #isLost = false;
  #retry: NodeJS.Timeout | undefined;
  #ended: StoreError | null = null;
  #closing = false;
  #leaving: NodeJS.Timeout | undefined;
  #left: StoreError | null = null;

  #opening: PromiseWithResolvers<Refusal | null> | null = null;

  constructor(
    thread: Thread<ToProjection, FromProjection>,
    { onDeath, onLost, onNews, onApplyNews }: ProjectionEvents,
  ) {
    this.#thread = thread;
    this.#onLost = onLost;
    this.#onNews = onNews;
    this.#onApplyNews = onApplyNews;
    let isOpen = false;
    thread.onMessage((message) => {
      if (message.type === 'refused') {
        this.#opening?.resolve({ error: errorOf(message.error), isDamaged: message.isDamaged });
        return;
      }
      if (message.type === 'opened') {
        if (!isOpen) this.#toldSeq = message.appliedSeq;
        isOpen = true;
        this.#isLost = false;
        // Who asked before it was open may wait for what it had applied already.
        this.#settleEntries(message.appliedSeq, []);
        this.#opening?.resolve(null);
        return;
      }
      this.#take(message);
    });
    thread.onEnd((cause) => {
      if (this.#ended !== null) return;
      if (this.#closing) {
        this.#end(new StoreError('closed', 'the database is closed'));
        return;
      }
      const message = `the database's projection thread has ended: ${cause.message}`;
      const error = new StoreError('closed', message, { cause });
      this.#end(error);
      if (isOpen) onDeath(error);
    });
  }

  /**
   * Opens what is at the mirror's path; until then everything waits. While another program holds its lock, this waits too.
   *
   * @param lastSeq of the event log. @returns null once it is open. @throws StoreError `closed`
   */
  open(lastSeq: number): Promise<Refusal | null> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    this.#lastSeq = Math.max(this.#lastSeq, lastSeq);
    this.#opening = Promise.withResolvers();
    this.#thread.post({ type: 'open', lastSeq });
    return this.#opening.promise;
  }

  /** Resolves once the mirror's file is closed: it is no longer what it was. @param why for whom waits meanwhile. */
  async letGo(why: StoreError): Promise<void> {
    this.#isLost = true;
    this.#getStuck(why);
    await this.#post<unknown>((id) => ({ type: 'let_go', id }));
  }

  /** It cannot be opened, now or ever. */
  async abandon(why: StoreError): Promise<void> {
    this.#end(why);
    await this.#thread.stop();
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
    if (this.#ended !== null || lastSeq <= this.#lastSeq) return;
    this.#lastSeq = lastSeq;
    this.#thread.post({ type: 'apply', lastSeq, waiting });
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
      this.#rejectAll(this.#left);
    }, LEAVE_AFTER_MS);
  }

  async close(): Promise<void> {
    if (this.#ended !== null) return;
    this.#closing = true;
    clearTimeout(this.#retry);
    // From here on whoever waits is told by the end itself.
    clearTimeout(this.#leaving);
    await this.#post<unknown>((id) => ({ type: 'close', id }));
  }

  #post<T>(message: (id: number) => ToProjection): Promise<T> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise<T>((resolve, reject) => {
      this.#thread.post(message(this.#waiting.put({ resolve, reject })));
    });
  }

  #take(message: Exclude<FromProjection, { type: 'opened' | 'refused' }>): void {
    switch (message.type) {
      case 'applied':
        this.#goOn();
        this.#settleEntries(message.appliedSeq, message.reports);
        for (const outcome of message.outcomes) this.#settle(outcome);
        // After all of them are settled: a listener that fails keeps no caller waiting.
        this.#tell(message);
        return;
      case 'stuck':
        this.#getStuck(errorOf(message.error));
        for (const outcome of message.outcomes) this.#settle(outcome);
        if (this.#closing || this.#ended !== null) return;
        clearTimeout(this.#retry);
        this.#retry = setTimeout(
          () => this.#thread.post({ type: 'apply', lastSeq: this.#lastSeq, waiting: 0 }),
          RETRY_MS,
        ).unref();
        return;
      case 'lost':
        for (const outcome of message.outcomes) this.#settle(outcome);
        this.#onLost({ error: errorOf(message.error), isDamaged: message.isDamaged });
        return;
      case 'outcome':
        this.#settle(message.outcome);
        return;
      case 'news':
        message.news.forEach(this.#onNews);
        return;
      case 'closed':
        message.news.forEach(this.#onNews);
        this.#settle({ id: message.id, ok: true, value: undefined });
        this.#end(new StoreError('closed', 'the database is closed'));
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
    // What was applied to a file that is lost may be told late.
    if (this.#stuck === null || this.#isLost) return;
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

  #end(error: StoreError): void {
    if (this.#ended !== null) return;
    this.#ended = error;
    this.#opening?.reject(error);
    clearTimeout(this.#retry);
    clearTimeout(this.#leaving);
    this.#rejectAll(error);
    this.#waiting.takeAll();
  }

  /** Their numbers stay taken: the thread may still answer them. */
  #rejectAll(error: StoreError): void {
    for (const [, waiting] of this.#waiting.entries()) waiting.reject(error);
    for (const all of this.#entries.values()) for (const waiting of all) waiting.reject(error);
    this.#entries.clear();
  }
}

function errorOf({ kind, message }: PlainError): StoreError {
  return new StoreError(kind, message);
}
