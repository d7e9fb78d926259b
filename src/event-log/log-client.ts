/** The event log as seen from the other threads: promises that resolve once it is on disk. */
import { Slots } from '../platform/slots.ts';
import { StoreError, type PlainError } from '../sqlite/errors.ts';
import type { Thread } from '../platform/thread.ts';
import type { Appended, FromLog, LastLife, ToLog } from './append-loop.ts';
import type { EncodedEntry, Place, PruneBounds, PrunedLog } from './event-log.ts';

interface LogEvents {
  /** The thread ended without having been asked to: the process cannot continue. */
  readonly onDeath: (error: Error) => void;
  /** Called after every transaction, before those who wait for it. @param waiting how many do, for it or for a later one. */
  readonly onAppended: (lastSeq: number, waiting: number) => void;
}

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: StoreError) => void;
}

interface Unsent {
  readonly id: number;
  readonly body: Uint8Array;
  readonly arrivedAtMs: number;
}

export class LogClient {
  readonly #thread: Thread<ToLog, FromLog>;
  readonly #onAppended: LogEvents['onAppended'];
  readonly #waiting = new Slots<Waiting>();
  /** Deliveries that came in this turn of the event loop; they go to the thread together at its end. */
  readonly #unsent: Unsent[] = [];
  #opened: Extract<FromLog, { type: 'opened' }> | null = null;
  #lastSeq = 0;
  #epoch = '';
  #ended: StoreError | null = null;
  #closing = false;

  private constructor(thread: Thread<ToLog, FromLog>, onAppended: LogEvents['onAppended']) {
    this.#thread = thread;
    this.#onAppended = onAppended;
  }

  /** @throws StoreError when the event log is in use, another program's, too new, or out of reach. */
  static open(thread: Thread<ToLog, FromLog>, { onDeath, onAppended }: LogEvents): Promise<LogClient> {
    const client = new LogClient(thread, onAppended);
    return new Promise((resolve, reject) => {
      thread.onMessage((message) => {
        if (message.type === 'refused') {
          const error = errorOf(message.error);
          client.#end(error);
          reject(error);
          return;
        }
        if (message.type === 'opened') {
          client.#opened = message;
          client.#lastSeq = message.lastSeq;
          client.#epoch = message.epoch;
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
        const error = new StoreError('closed', `the event log's thread has ended: ${cause.message}`, {
          cause,
        });
        client.#end(error);
        if (client.#opened === null) reject(error);
        else onDeath(error);
      });
    });
  }

  /** Of the mirror's previous run. */
  get life(): LastLife {
    return this.#opened?.life ?? { aliveAtMs: null, lastAtMs: null };
  }

  /** The last position when it was opened. */
  get openedSeq(): number {
    return this.#opened?.lastSeq ?? 0;
  }

  /** The last position known to be on disk. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Resolves once it is on disk. @throws StoreError */
  appendDelivery(body: Uint8Array, arrivedAtMs: number): Promise<Place> {
    return this.#wait((id) => {
      if (this.#unsent.length === 0) setImmediate(() => this.#sendDeliveries());
      this.#unsent.push({ id, body, arrivedAtMs });
    });
  }

  /** Resolves once it is on disk. @throws StoreError */
  appendEntry(entry: EncodedEntry): Promise<Place> {
    return this.#post(
      (id) => ({ type: 'entry', id, entry }),
      [entry.payload.buffer, ...(entry.detail === null ? [] : [entry.detail.payloadWithout.buffer])],
    );
  }

  /** Writes the heartbeat, which shows that a delivery could be kept now. @throws StoreError */
  beat(atMs: number, changeSeq: number): Promise<void> {
    return this.#post((id) => ({ type: 'beat', id, atMs, changeSeq }));
  }

  /** @throws StoreError */
  prune(args: PruneBounds): Promise<PrunedLog> {
    return this.#post((id) => ({ type: 'prune', id, ...args }));
  }

  /** Does nothing in an epoch that has begun already. @throws StoreError */
  async beginEpoch(epoch: string, changeSeq: number): Promise<void> {
    if (epoch === this.#epoch) return;
    await this.#post<unknown>((id) => ({ type: 'begin_epoch', id, epoch, changeSeq }));
    this.#epoch = epoch;
  }

  async close(): Promise<void> {
    if (this.#ended !== null) return;
    this.#closing = true;
    await this.#post<unknown>((id) => ({ type: 'close', id }));
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

  #post<T>(message: (id: number) => ToLog, handOver: readonly ArrayBuffer[] = []): Promise<T> {
    // Earlier deliveries go first.
    this.#sendDeliveries();
    return this.#wait((id) => this.#thread.post(message(id), handOver));
  }

  #wait<T>(begin: (id: number) => void): Promise<T> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise<T>((resolve, reject) => {
      begin(this.#waiting.put({ resolve, reject }));
    });
  }

  #take(message: Exclude<FromLog, { type: 'opened' | 'refused' }>): void {
    switch (message.type) {
      case 'appended':
        this.#lastSeq = Math.max(this.#lastSeq, message.lastSeq);
        this.#onAppended(this.#lastSeq, this.#waiting.size);
        this.#settle(message.placed, { duplicate: false });
        this.#settle(message.duplicates, { duplicate: true });
        return;
      case 'done':
        this.#waiting.take(message.id)?.resolve(message.value as never);
        return;
      case 'failed':
        for (const id of message.ids) this.#waiting.take(id)?.reject(errorOf(message.error));
        return;
      case 'closed':
        this.#waiting.take(message.id)?.resolve(undefined as never);
        this.#end(new StoreError('closed', 'the database is closed'));
    }
  }

  #settle(places: Appended['placed'], { duplicate }: { readonly duplicate: boolean }): void {
    for (let i = 0; i < places.length; i += 2) {
      const id = places[i];
      const seq = places[i + 1];
      if (id === undefined || seq === undefined) continue;
      this.#waiting.take(id)?.resolve({ seq, duplicate } satisfies Place as never);
    }
  }

  #end(error: StoreError): void {
    if (this.#ended !== null) return;
    this.#ended = error;
    for (const waiting of this.#waiting.takeAll()) waiting.reject(error);
  }
}

function errorOf({ kind, message }: PlainError): StoreError {
  return new StoreError(kind, message);
}
