import { StoreError } from '../sqlite/errors.ts';
import { Requests, type Asked } from '../sqlite/worker.ts';
import type { Arrival, Heartbeat, InboxMetadata, PruneInbox } from './inbox.ts';
import type { InboxCalls, InboxCommit } from './serve-inbox.ts';

export type InboxThread = Asked<InboxCalls, InboxCommit>;

export interface InboxEvents {
  /** The thread ended unasked: the process must end. */
  readonly onDeath: (error: StoreError) => void;
  readonly onCommit: (commit: InboxCommit) => void;
}

/** Deliveries of one turn of the event loop, sent together at its end. */
interface Batch extends PromiseWithResolvers<void> {
  readonly arrivals: Arrival[];
}

export class InboxClient {
  readonly #requests: Requests<InboxCalls, InboxCommit>;
  readonly metadata: InboxMetadata;
  #batch: Batch | null = null;
  lastSeq: number;
  #isClosing = false;

  /** @throws StoreError when the inbox is in use, another program's, or out of reach. */
  static async open(thread: InboxThread, { onDeath, onCommit }: InboxEvents): Promise<InboxClient> {
    const requests = new Requests<InboxCalls, InboxCommit>(thread, (commit) => {
      client.lastSeq = commit.lastSeq;
      onCommit(commit);
    });
    const client = new InboxClient(requests, await requests.call('open', undefined));
    void requests.exited.then(({ message }) => {
      if (!client.#isClosing) onDeath(new StoreError('closed', `the inbox thread has ended: ${message}`));
    });
    return client;
  }

  private constructor(requests: Requests<InboxCalls, InboxCommit>, metadata: InboxMetadata) {
    this.#requests = requests;
    this.lastSeq = metadata.lastSeq;
    this.metadata = metadata;
  }

  /** Resolves once the body is on disk. @throws StoreError */
  append(body: Uint8Array, arrivedAtMs: number, fromStream = false): Promise<void> {
    if (this.#batch === null) {
      this.#batch = { arrivals: [], ...Promise.withResolvers() };
      setImmediate(() => this.#send());
    }
    this.#batch.arrivals.push({ body, arrivedAtMs, fromStream });
    return this.#batch.promise;
  }

  readonly beat = (heartbeat: Heartbeat): Promise<void> => this.#requests.call('beat', heartbeat);
  readonly beginEpoch = (epoch: string, changeSeq: number) =>
    this.#requests.call('beginEpoch', { epoch, changeSeq });
  readonly unpublished = (afterSeq: number) => this.#requests.call('unpublished', afterSeq);
  readonly prune = (args: PruneInbox) => this.#requests.call('prune', args);

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#send();
    // A dead thread has closed its files.
    await this.#requests.call('close', undefined).catch(() => undefined);
    await this.#requests.exited;
  }

  #send(): void {
    const batch = this.#batch;
    if (batch === null) return;
    this.#batch = null;
    const bytes = new Uint8Array(batch.arrivals.reduce((sum, { body }) => sum + body.byteLength, 0));
    let at = 0;
    const arrivals = batch.arrivals.map(({ body, ...arrival }) => {
      bytes.set(body, at);
      return { ...arrival, body: bytes.subarray(at, (at += body.byteLength)) };
    });
    this.#requests.call('append', arrivals, [bytes.buffer]).then(batch.resolve, batch.reject);
  }
}
