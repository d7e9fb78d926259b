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

/** Deliveries of one turn of the event loop; they are sent together at its end. */
interface Batch extends PromiseWithResolvers<void> {
  readonly arrivals: Arrival[];
}

/** Memory of a waiting delivery besides its body: promises, timers, the frame of the copy. */
const WAITING_BYTES = 1_024;

export class InboxClient {
  readonly #requests: Requests<InboxCalls, InboxEvent>;
  /** As it was opened. */
  readonly metadata: InboxMetadata;
  #batch: Batch | null = null;
  #lastSeq: number;
  #waitingBytes = 0;
  #closing: Promise<void> | null = null;

  /** @throws StoreError when the inbox is in use, another program's, or out of reach. */
  static async open(thread: InboxThread, { onDeath, onCommit }: InboxEvents): Promise<InboxClient> {
    let client: InboxClient | null = null;
    const requests = new Requests<InboxCalls, InboxEvent>(thread, ({ lastSeq, commit }) => {
      if (client !== null) client.#lastSeq = lastSeq;
      onCommit(lastSeq, commit);
    });
    const { lastSeq, ...metadata } = await requests.call('open', undefined);
    const opened = (client = new InboxClient(requests, lastSeq, metadata));
    void requests.exited.then(({ message }) => {
      if (opened.#closing === null)
        onDeath(new StoreError('closed', `the inbox thread has ended: ${message}`));
    });
    return opened;
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
    if (this.#batch === null) {
      this.#batch = { arrivals: [], ...Promise.withResolvers() };
      setImmediate(() => this.#send());
    }
    this.#waitingBytes += body.byteLength + WAITING_BYTES;
    this.#batch.arrivals.push({ body, arrivedAtMs });
    return this.#batch.promise;
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
    // A thread that has ended is closed: its files went with it.
    await this.#requests.call('close', undefined).catch(() => undefined);
    await this.#requests.exited;
  }

  #send(): void {
    const batch = this.#batch;
    if (batch === null) return;
    this.#batch = null;
    const size = batch.arrivals.reduce((sum, { body }) => sum + body.byteLength, 0);
    const bytes = new Uint8Array(size);
    let at = 0;
    const arrivals = batch.arrivals.map(({ body, arrivedAtMs }) => {
      bytes.set(body, at);
      return { body: bytes.subarray(at, (at += body.byteLength)), arrivedAtMs };
    });
    this.#requests
      .call('append', arrivals, [bytes.buffer])
      .finally(() => (this.#waitingBytes -= size + arrivals.length * WAITING_BYTES))
      .then(batch.resolve, batch.reject);
  }
}
