/** Puts rows into the stream, in the order in which it was asked. */
import { hash } from 'node:crypto';
import type { PubAck } from '@nats-io/jetstream';
import { z } from 'zod';
import { TransportError, type Publication, type Published } from '../transport.ts';
import { attempt } from './attempt.ts';
import type { Live } from './connection.ts';
import { transportError } from './failure.ts';
import { readState, type StreamState } from './history.ts';
import { encodeRows, type Encoded } from './message.ts';
import type { Parts } from './parts.ts';

const receiptSchema = z.object({
  /** When the stream was made. */
  created: z.string(),
  seq: z.number(),
  id: z.string(),
  /** The base of the history that it was published in, as last seen. */
  baseSeq: z.number(),
});
type Receipt = z.infer<typeof receiptSchema>;
type History = Pick<Receipt, 'created' | 'baseSeq'>;

const ACKNOWLEDGED_WITHIN_MS = 5_000;
/** At most: names, kind, time, ids. */
const HEADERS_BYTES = 1_024;
const CANNOT = 'an entry cannot be published';

/** Fits one transaction of a replica, and is far below the engine's limit. */
const TOGETHER_ROWS = 256;
const TOGETHER_BYTES = 256 << 10;

interface Waiting {
  readonly publication: Publication;
  readonly resolve: (published: Published) => void;
  readonly reject: (error: unknown) => void;
}

function* portionsOf(waiting: readonly Waiting[]): Generator<readonly Waiting[]> {
  let start = 0;
  let bytes = 0;
  for (const [i, { publication }] of waiting.entries()) {
    const { byteLength } = publication.row.payload;
    if (i > start && (i - start >= TOGETHER_ROWS || bytes + byteLength > TOGETHER_BYTES)) {
      yield waiting.slice(start, i);
      start = i;
      bytes = 0;
    }
    bytes += byteLength;
  }
  if (start < waiting.length) yield waiting.slice(start);
}

/** The same rows together have the same id. A row that comes again among others is recognised by each event log. */
function idOf(publications: readonly Publication[]): string {
  const [only] = publications;
  if (publications.length === 1 && only !== undefined) return only.id;
  return hash('sha256', publications.map(({ id }) => id).join(), 'hex').slice(0, 32);
}

/** Of a message, as the engine knows it again. */
const ID = 'Nats-Msg-Id';

function historyOf({ created, base }: StreamState): History {
  return { created, baseSeq: base?.seq ?? 0 };
}

export class Publisher {
  readonly #parts: Parts;
  /** Resolves once the message before has been sent; it need not be acknowledged. */
  #turn: Promise<void> = Promise.resolve();
  /** Deliveries of this turn. */
  readonly #together: Waiting[] = [];
  /** The highest position known; what comes after it has a higher one. */
  #highest = 0;
  /** When the stream was made, and its base, as of the connection's life. */
  #history: { readonly life: number; readonly seen: Promise<History> } | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  publish(publication: Publication): Promise<Published> {
    if (publication.row.kind !== 'delivery') {
      this.#sendTogether();
      return this.#publish([publication]);
    }
    return new Promise((resolve, reject) => {
      if (this.#together.length === 0) queueMicrotask(() => this.#sendTogether());
      this.#together.push({ publication, resolve, reject });
    });
  }

  /** The deliveries that were published in one turn, in as few messages as may be. */
  #sendTogether(): void {
    for (const waiting of portionsOf(this.#together.splice(0))) {
      this.#publish(waiting.map(({ publication }) => publication)).then(
        (published) => waiting.forEach(({ resolve }) => resolve(published)),
        (error: unknown) => waiting.forEach(({ reject }) => reject(error)),
      );
    }
  }

  /** As one message: several only if all are deliveries. @param id another one for the same input has another message. */
  async #publish(publications: readonly Publication[], id = idOf(publications)): Promise<Published> {
    const { client, connection, layout } = this.#parts;
    const { delivery, entry } = layout.names;
    const rows = publications.map(({ row }) => row);
    const subject = rows[0]?.kind === 'delivery' ? delivery : entry;
    const prepared = Promise.all([this.#ready(), encodeRows(rows, client.transport.headers())]);
    const before = this.#turn;
    const sending = prepared.then(async ([live, encoded]) => {
      await before;
      const sentAfter = this.#highest;
      return { sentAfter, live, acknowledged: this.#send(live, subject, { id, ...encoded }) };
    });
    this.#turn = sending.then(
      () => undefined,
      async () => before,
    );
    try {
      const { sentAfter, live, acknowledged } = await sending;
      const { seq, duplicate } = await acknowledged;
      if (duplicate && !(await this.#isThere(live, { seq, id })))
        return await this.#publish(publications, `${id}-${seq}`);
      if (!duplicate && seq <= sentAfter) {
        this.#highest = 0;
        this.#history = null;
        throw new TransportError(
          `the engine at ${connection.name} has lost entries: it gave number ${seq} out again`,
        );
      }
      this.#highest = Math.max(this.#highest, seq);
      const receipt: Receipt = { ...(await this.#historyOf(live)), seq, id };
      return { position: seq, receipt };
    } catch (error) {
      layout.recheck(error);
      throw transportError(CANNOT, error);
    }
  }

  /**
   * A message that the lead removed because a snapshot holds it counts as kept. One that is gone since another history began
   * may be in that history or not: it is sent again, and event logs that have it leave it out.
   */
  isKept(receipt: unknown): Promise<boolean> {
    return attempt(this.#parts, 'what was published cannot be looked up', async (live) => {
      const { names } = this.#parts.layout;
      const state = await readState(live, names, null);
      const history = historyOf(state);
      this.#history = { life: live.life, seen: Promise.resolve(history) };
      const known = receiptSchema.safeParse(receipt).data;
      if (known?.created !== history.created || known.seq > state.lastSeq) return false;
      const message = await live.jsm.streams.getMessage(names.stream, { seq: known.seq });
      if (message === null) return known.baseSeq === history.baseSeq;
      return message.header.get(ID) === known.id;
    });
  }

  /** The engine knows a message again that has been deleted since. */
  async #isThere({ jsm }: Live, { seq, id }: Pick<Receipt, 'seq' | 'id'>): Promise<boolean> {
    const message = await jsm.streams.getMessage(this.#parts.layout.names.stream, { seq });
    return message?.header.get(ID) === id;
  }

  async #ready(): Promise<Live> {
    const { connection, layout } = this.#parts;
    const live = await connection.use();
    await layout.ready(live);
    await this.#historyOf(live);
    return live;
  }

  #historyOf(live: Live): Promise<History> {
    const { life } = live;
    if (this.#history?.life !== life) {
      const seen = readState(live, this.#parts.layout.names, null).then(historyOf);
      this.#history = { life, seen };
      seen.catch(() => {
        if (this.#history?.seen === seen) this.#history = null;
      });
    }
    return this.#history.seen;
  }

  /** The message is sent before the first `await`: calls keep their order. */
  async #send(
    { js, nc }: Live,
    subject: string,
    message: Encoded & { readonly id: string },
  ): Promise<PubAck> {
    const { id, headers, data } = message;
    const maxBytes = nc.info?.max_payload ?? 0;
    const bytes = data.byteLength + HEADERS_BYTES;
    if (bytes > maxBytes) {
      throw new TransportError(
        `an entry of ${bytes} bytes is larger than the ${maxBytes} bytes that the engine takes: set max_payload: 8MB in the configuration of each of its servers, and restart them one by one`,
      );
    }
    return js.publish(subject, data, { msgID: id, headers, timeout: ACKNOWLEDGED_WITHIN_MS });
  }
}
