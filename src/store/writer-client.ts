/** The writer as seen from the other threads: promises that resolve once the thread has committed. */
import { Slots } from '../slots.ts';
import type { CommandArgs, CommandName, CommandResult } from './commands.ts';
import type { HistoryNews } from './epoch.ts';
import { StoreError } from './errors.ts';
import type { NewEntry } from './log.ts';
import type { Life } from './queries/status.ts';
import type { AppendListener, StoreWriter } from './store.ts';
import type { Thread } from './thread.ts';
import type { FromWriter, OtherInput, Outcome, Outcomes, ToWriter, WaitingOther } from './write-loop.ts';
import type { Appended, BranchCounts } from './writer.ts';

export interface WriterEvents {
  /** The thread ended without having been asked to: the process cannot continue. */
  readonly onDeath: (error: Error) => void;
  readonly onHistoryNews: (news: HistoryNews) => void;
}

type EntryKind = NewEntry['kind'] | 'delivery';

interface Waiting {
  readonly bytes: number;
  /** The kind of entry that is appended; null for anything else. */
  readonly kind: EntryKind | null;
  readonly resolve: (value: never) => void;
  readonly reject: (error: StoreError) => void;
}

interface Unsent {
  readonly id: number;
  readonly body: Uint8Array;
  readonly arrivedAtMs: number;
}

/**
 * Reads share a commit: each waits this long for others, or until there are this many. No caller is in a hurry for
 * them.
 */
const READS_WAIT_MS = 4;
const READS_AT_ONCE = 8;

/** A stored delivery that needs no further report. */
const NO_FACTS: readonly never[] = [];

/** What a waiting delivery takes besides its bytes: promises, timers, the copy's frame. */
const WAITING_BYTES = 1_024;

export class WriterClient implements StoreWriter {
  readonly #thread: Thread<ToWriter, FromWriter>;
  readonly #waiting = new Slots<Waiting>();
  readonly #listeners = new Set<AppendListener>();
  /** Deliveries that came in this turn of the event loop; they go to the thread together at its end. */
  readonly #unsent: Unsent[] = [];
  readonly #unsentReads: WaitingOther[] = [];
  #readsTimer: NodeJS.Timeout | undefined;
  #lastSeq = 0;
  #life: Life | null = null;
  #waitingBytes = 0;
  #ended: StoreError | null = null;
  #closing = false;

  readonly #onHistoryNews: WriterEvents['onHistoryNews'];

  private constructor(thread: Thread<ToWriter, FromWriter>, onHistoryNews: WriterEvents['onHistoryNews']) {
    this.#thread = thread;
    this.#onHistoryNews = onHistoryNews;
  }

  /** @throws StoreError when the database is in use, not a database, too new, or out of reach. */
  static open(
    thread: Thread<ToWriter, FromWriter>,
    { onDeath, onHistoryNews }: WriterEvents,
  ): Promise<WriterClient> {
    const client = new WriterClient(thread, onHistoryNews);
    return new Promise((resolve, reject) => {
      let opened = false;
      thread.onMessage((message) => {
        if (message.type === 'refused') {
          client.#end(new StoreError(message.error.kind, message.error.message));
          reject(new StoreError(message.error.kind, message.error.message));
          return;
        }
        if (message.type === 'opened') {
          opened = true;
          client.#lastSeq = message.lastSeq;
          client.#life = message.life;
          message.news.forEach(onHistoryNews);
          resolve(client);
          return;
        }
        client.#take(message);
      });
      thread.onEnd((cause) => {
        if (client.#ended !== null) return;
        if (client.#closing) {
          client.#end(new StoreError('closed', 'the database is closed'));
          return;
        }
        const error = new StoreError('closed', `the database's writer thread has ended: ${cause.message}`, {
          cause,
        });
        client.#end(error);
        if (opened) onDeath(error);
        else reject(error);
      });
    });
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** As the writer found it when it opened the database. */
  get life(): Life {
    if (this.#life === null) throw new Error('the database is not open');
    return this.#life;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  onAppended(listener: AppendListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  appendDelivery(body: Uint8Array, arrivedAtMs: number): Promise<Appended> {
    return this.#wait(body.byteLength + WAITING_BYTES, 'delivery', (id) => {
      if (this.#unsent.length === 0) setImmediate(() => this.#sendDeliveries());
      this.#unsent.push({ id, body, arrivedAtMs });
    });
  }

  #sendDeliveries(): void {
    const sent = this.#unsent.splice(0);
    if (sent.length === 0) return;
    const bytes = new Uint8Array(sent.reduce((sum, { body }) => sum + body.byteLength, 0));
    const ends: number[] = [];
    let end = 0;
    for (const { body } of sent) {
      bytes.set(body, end);
      end += body.byteLength;
      ends.push(end);
    }
    this.#thread.post(
      {
        type: 'deliveries',
        ids: sent.map(({ id }) => id),
        bytes,
        ends,
        arrivedAtMs: sent.map((delivery) => delivery.arrivedAtMs),
      },
      [bytes.buffer],
    );
  }

  append(entry: NewEntry): Promise<Appended> {
    if (entry.kind === 'read') return this.#appendRead(entry);
    return this.#postInput({ kind: 'entry', entry }, entry.kind);
  }

  #appendRead(entry: NewEntry): Promise<Appended> {
    return this.#wait(0, entry.kind, (id) => {
      this.#unsentReads.push({ id, input: { kind: 'entry', entry } });
      if (this.#unsentReads.length >= READS_AT_ONCE) this.#sendReads();
      else this.#readsTimer ??= setTimeout(() => this.#sendReads(), READS_WAIT_MS);
    });
  }

  #sendReads(): void {
    clearTimeout(this.#readsTimer);
    this.#readsTimer = undefined;
    const inputs = this.#unsentReads.splice(0);
    if (inputs.length > 0) this.#thread.post({ type: 'others', inputs });
  }

  command<N extends CommandName>(name: N, args: CommandArgs<N>): Promise<CommandResult<N>> {
    return this.#postInput({ kind: 'command', name, args });
  }

  branchCounts(): Promise<BranchCounts> {
    return this.#post((id) => ({ type: 'counts', id }));
  }

  /** Lets the write-ahead log start over, if no reader is in the way. @param keepBytes of its file; null: all. */
  restartLog(keepBytes: number | null): void {
    if (this.#ended === null) this.#thread.post({ type: 'restart', keepBytes });
  }

  async close(): Promise<void> {
    if (this.#ended !== null) return;
    this.#closing = true;
    await this.#post<unknown>((id) => ({ type: 'close', id }));
  }

  #postInput<T>(input: OtherInput, kind: Waiting['kind'] = null): Promise<T> {
    return this.#post((id) => ({ type: 'others', inputs: [{ id, input }] }), kind);
  }

  #post<T>(message: (id: number) => ToWriter, kind: Waiting['kind'] = null): Promise<T> {
    // Earlier requests go first.
    this.#sendDeliveries();
    this.#sendReads();
    return this.#wait(0, kind, (id) => {
      this.#thread.post(message(id));
    });
  }

  #wait<T>(bytes: number, kind: Waiting['kind'], begin: (id: number) => void): Promise<T> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise<T>((resolve, reject) => {
      this.#waitingBytes += bytes;
      begin(this.#waiting.put({ bytes, kind, resolve, reject }));
    });
  }

  #take(message: Exclude<FromWriter, { type: 'opened' | 'refused' }>): void {
    if (message.type === 'closed') {
      message.news.forEach(this.#onHistoryNews);
      this.#settle({ id: message.id, ok: true, value: undefined });
      this.#end(new StoreError('closed', 'the database is closed'));
      return;
    }
    // First the position, so that a listener called about a commit also sees it covered.
    this.#lastSeq = Math.max(this.#lastSeq, message.lastSeq);
    const appended = inOrder(message).map((outcome) => this.#settle(outcome));
    // After all of them are settled: a listener that fails keeps no caller waiting.
    for (const one of appended) {
      if (one !== null) for (const listener of this.#listeners) listener(one.appended, one.kind);
    }
  }

  /** @returns what was appended, for the listeners. */
  #settle(outcome: Outcome): { readonly appended: Appended; readonly kind: EntryKind } | null {
    const waiting = this.#waiting.take(outcome.id);
    if (waiting === undefined) return null;
    this.#waitingBytes -= waiting.bytes;
    if (!outcome.ok) {
      waiting.reject(new StoreError(outcome.error.kind, outcome.error.message));
      return null;
    }
    waiting.resolve(outcome.value as never);
    return waiting.kind === null ? null : { appended: outcome.value as Appended, kind: waiting.kind };
  }

  #end(error: StoreError): void {
    if (this.#ended !== null) return;
    this.#ended = error;
    clearTimeout(this.#readsTimer);
    for (const waiting of this.#waiting.takeAll()) waiting.reject(error);
    this.#waitingBytes = 0;
  }
}

/** All that a transaction took, in the order of the event log; what has no place in it comes last. */
function inOrder({ stored, outcomes }: Outcomes): Outcome[] {
  const all = [...outcomes];
  for (const [i, id] of stored.entries()) {
    const seq = stored[i + 1];
    if (i % 2 === 1 || seq === undefined) continue;
    all.push({ id, ok: true, value: { seq, duplicate: false, facts: NO_FACTS } satisfies Appended });
  }
  return outcomes.length === 0 ? all : all.sort((a, b) => seqOf(a) - seqOf(b));
}

function seqOf(outcome: Outcome): number {
  const { seq } = (outcome.ok ? (outcome.value ?? {}) : {}) as Partial<Appended>;
  return seq ?? Number.MAX_SAFE_INTEGER;
}
