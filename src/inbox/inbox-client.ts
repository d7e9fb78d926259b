/** The inbox as the main thread sees it: promises that resolve once a delivery is on disk. */
import { StoreError } from '../sqlite/errors.ts';
import { Requests, type Asked } from '../sqlite/worker.ts';
import type { Arrival, Heartbeat, InboxMetadata, PrunedInbox, PruneInbox } from './inbox.ts';
import type { InboxCalls, InboxCommit, InboxEvent } from './serve-inbox.ts';

export type InboxThread = Asked<InboxCalls, InboxEvent>;

interface InboxEvents {
  /** The thread ended without being asked to: the process must end. */
  readonly onDeath: (error: StoreError) => void;
  /** After each transaction, before its callers hear of it. */
  readonly onCommit: (lastSeq: number, commit: InboxCommit) => void;
}

interface Unsent extends Arrival {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Memory of a waiting delivery besides its body: promises, timers, the frame of the copy. */
const WAITING_BYTES = 1_024;

export class InboxClient {
  readonly #requests: Requests<InboxCalls, InboxEvent>;
  /** As it was opened. */
  readonly metadata: InboxMetadata;
  /** Deliveries of this turn of the event loop; they are sent together at its end. */
  #unsent: Unsent[] = [];
  #lastSeq: number;
  #waitingBytes = 0;
  #closing: Promise<void> | null = null;

  /** @throws StoreError when the inbox is in use, another program's, or out of reach. */
  static open(thread: InboxThread, events: InboxEvents): Promise<InboxClient> {
    return new Promise((resolve, reject) => {
      let client: InboxClient | null = null;
      const requests = new Requests<InboxCalls, InboxEvent>(thread, (event) => {
        switch (event.type) {
          case 'opened':
            client = new InboxClient(requests, event.lastSeq, event.metadata);
            resolve(client);
            return;
          case 'refused':
            reject(new StoreError(event.error.kind, event.error.message));
            return;
          case 'committed':
            if (client !== null) client.#lastSeq = event.lastSeq;
            events.onCommit(event.lastSeq, event.commit);
        }
      });
      void requests.exited.then(({ message }) => {
        const error = new StoreError('closed', `the inbox thread has ended: ${message}`);
        if (client === null) reject(error);
        else if (client.#closing === null) events.onDeath(error);
      });
    });
  }

  private constructor(requests: Requests<InboxCalls, InboxEvent>, lastSeq: number, metadata: InboxMetadata) {
    this.#requests = requests;
    this.#lastSeq = lastSeq;
    this.metadata = metadata;
  }

  /** The last row known to be on disk. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Memory held by deliveries that wait for their commit. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Resolves once it is on disk, or was there already. @throws StoreError */
  append(body: Uint8Array, arrivedAtMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#unsent.length === 0) setImmediate(() => this.#send());
      this.#waitingBytes += body.byteLength + WAITING_BYTES;
      this.#unsent.push({ body, arrivedAtMs, resolve, reject });
    });
  }

  /** The heartbeat: resolves when a delivery could be committed. @throws StoreError */
  beat(heartbeat: Heartbeat): Promise<void> {
    return this.#requests.call('beat', heartbeat);
  }

  /** @throws StoreError */
  beginEpoch(epoch: string, changeSeq: number): Promise<void> {
    return this.#requests.call('beginEpoch', { epoch, changeSeq });
  }

  /** @throws StoreError */
  prune(args: PruneInbox): Promise<PrunedInbox> {
    return this.#requests.call('prune', args);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#send();
    await this.#requests.call('close', undefined).catch((error: unknown) => {
      // A thread that has ended is closed: its files went with it.
      if (!(error instanceof StoreError) || error.kind !== 'closed') throw error;
    });
    await this.#requests.exited;
  }

  #send(): void {
    const sent = this.#unsent;
    if (sent.length === 0) return;
    this.#unsent = [];
    const bytes = new Uint8Array(sent.reduce((sum, { body }) => sum + body.byteLength, 0));
    const ends: number[] = [];
    let end = 0;
    for (const { body } of sent) {
      bytes.set(body, end);
      end += body.byteLength;
      ends.push(end);
    }
    const arrivedAtMs = sent.map((delivery) => delivery.arrivedAtMs);
    const size = end + sent.length * WAITING_BYTES;
    this.#requests.call('append', { bytes, ends, arrivedAtMs }, [bytes.buffer]).then(
      () => {
        this.#waitingBytes -= size;
        for (const { resolve } of sent) resolve();
      },
      (error: unknown) => {
        this.#waitingBytes -= size;
        for (const { reject } of sent) reject(error);
      },
    );
  }
}
