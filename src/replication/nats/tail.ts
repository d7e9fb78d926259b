/**
 * The messages of a stream from one place on, fetched in portions by an ephemeral consumer. Any interruption ends it: the
 * reader must check the history before it opens another one.
 */
import { setImmediate } from 'node:timers/promises';
import type { ConsumerInfo } from '@nats-io/jetstream';
import type { Msg, MsgHdrs, Subscription } from '@nats-io/transport-node';
import { TransportError } from '../transport.ts';
import type { Client } from './client.ts';
import type { Connection, Live } from './connection.ts';
import { messageOf } from '../../platform/thrown.ts';

export interface Arrived {
  readonly seq: number;
  /** Nanoseconds, as text. */
  readonly storedAt: string;
  readonly subject: string;
  /** How many there are after it. */
  readonly pending: number;
  readonly headers: MsgHdrs | undefined;
  readonly data: Uint8Array;
}

interface TailArgs {
  readonly connection: Connection;
  readonly live: Live;
  readonly client: Client;
  readonly stream: string;
  /** The first message, or from when on. */
  readonly start: number | Date;
  /** Null: all of them. */
  readonly subject: string | null;
}

const PORTION = 256;
const PORTION_BYTES = 4 << 20;
const PORTION_WITHIN_MS = 5_000;
const HEARTBEAT_MS = 1_000;
const SILENT_MS = 2_500;
const FORGOTTEN_AFTER_MS = 30_000;

const STATUS = { none: 0, heartbeat: 100, timeout: 408, conflict: 409 } as const;

export class Tail {
  /** How many there were when it was opened. */
  readonly found: number;
  readonly #args: TailArgs;
  readonly #consumer: string;
  readonly #inbox: string;
  readonly #subscription: Subscription;
  readonly #queue: Arrived[] = [];
  #portion = 0;
  /** Of the portion that was asked for last, how many may still come. */
  #expected = 0;
  /** Of the consumer's own count. */
  #delivered = 0;
  #signMs = performance.now();
  #ended: TransportError | null = null;
  #wake: (() => void) | null = null;

  private constructor(args: TailArgs, consumer: ConsumerInfo) {
    this.found = consumer.num_pending;
    this.#args = args;
    this.#consumer = consumer.name;
    const { nc } = args.live;
    this.#inbox = args.client.transport.createInbox();
    this.#subscription = nc.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#take(message);
        else this.#end(error.message);
      },
    });
    this.#ask();
  }

  static async open(args: TailArgs): Promise<Tail> {
    const { live, client, stream, start, subject } = args;
    const { AckPolicy, DeliverPolicy, ReplayPolicy } = client.jetstream;
    const consumer = await live.jsm.consumers.add(stream, {
      ack_policy: AckPolicy.None,
      ...(typeof start === 'number'
        ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: start }
        : { deliver_policy: DeliverPolicy.StartTime, opt_start_time: start.toISOString() }),
      replay_policy: ReplayPolicy.Instant,
      inactive_threshold: client.transport.nanos(FORGOTTEN_AFTER_MS),
      num_replicas: 1,
      mem_storage: true,
      ...(subject === null ? {} : { filter_subject: subject }),
    });
    return new Tail(args, consumer);
  }

  /** How many are here, and not taken yet. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** What is at hand, up to so many bytes. @throws TransportError when it has ended, and all was taken. */
  take(bytes: number): Arrived[] {
    let count = 0;
    for (let sum = 0; count < Math.min(PORTION, this.#queue.length); count += 1) {
      sum += this.#queue[count]?.data.byteLength ?? 0;
      if (count > 0 && sum > bytes) break;
    }
    const taken = this.#queue.splice(0, count);
    if (taken.length === 0 && this.#ended !== null) throw this.#ended;
    if (this.#expected === 0 && this.#queue.length < PORTION) this.#ask();
    return taken;
  }

  /** Until something is at hand, or this long. @throws TransportError when it has ended. */
  async more(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#queue.length > 0 || signal.aborted) return;
    if (this.#ended !== null) throw this.#ended;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#wake = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done);
      this.#wake = done;
    });
    if (performance.now() - this.#signMs > SILENT_MS) {
      // This thread may have been busy: what has come meanwhile is looked at first.
      await setImmediate();
      await setImmediate();
      if (performance.now() - this.#signMs > SILENT_MS) this.#end('nothing has come from it for seconds');
    }
    if (!this.#args.connection.isUp(this.#args.live)) this.#end('the connection was interrupted');
  }

  /** The engine forgets the consumer by itself; earlier when it can be told. */
  close(): void {
    const { live, stream, connection } = this.#args;
    this.#end('it was closed here');
    this.#subscription.unsubscribe();
    if (connection.isUp(live)) live.jsm.consumers.delete(stream, this.#consumer).catch(() => undefined);
  }

  #ask(): void {
    if (this.#ended !== null) return;
    const { live, client, stream } = this.#args;
    const { nanos } = client.transport;
    this.#portion += 1;
    this.#expected = PORTION;
    this.#signMs = performance.now();
    const asked = {
      batch: PORTION,
      // One message is always let through.
      max_bytes: Math.max(PORTION_BYTES, 2 * (live.nc.info?.max_payload ?? 0)),
      expires: nanos(PORTION_WITHIN_MS),
      idle_heartbeat: nanos(HEARTBEAT_MS),
    };
    try {
      live.nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${this.#consumer}`, JSON.stringify(asked), {
        reply: `${this.#inbox}.${this.#portion}`,
      });
    } catch (error) {
      this.#end(messageOf(error));
    }
  }

  #take(message: Msg): void {
    this.#signMs = performance.now();
    const { code = STATUS.none, description = '' } = message.headers ?? {};
    if (message.subject.startsWith(this.#inbox)) {
      if (message.subject === `${this.#inbox}.${this.#portion}`) this.#hear(code, description);
      return;
    }
    const place = placeOf(message.reply ?? '');
    if (place === null || place.delivered !== this.#delivered + 1) {
      this.#end('messages were lost on the way');
      return;
    }
    this.#delivered = place.delivered;
    this.#expected -= 1;
    const { subject, headers, data } = message;
    this.#queue.push({ ...place, subject, headers, data });
    this.#wake?.();
  }

  #hear(code: number, description: string): void {
    if (code === STATUS.heartbeat) return;
    if (
      code === STATUS.timeout ||
      (code === STATUS.conflict && /maxbytes|batch completed/i.test(description))
    ) {
      this.#expected = 0;
      if (this.#queue.length < PORTION) this.#ask();
      return;
    }
    this.#end(description === '' ? `it ended the delivery (${code})` : description.toLowerCase());
  }

  #end(why: string): void {
    const { connection, stream } = this.#args;
    this.#ended ??= new TransportError(`the stream ${stream} of ${connection.name} is cut off: ${why}`);
    this.#wake?.();
  }
}

/** As the engine writes it into the address for an acknowledgement; null: it is none. */
function placeOf(reply: string): {
  readonly seq: number;
  readonly delivered: number;
  readonly storedAt: string;
  readonly pending: number;
} | null {
  const parts = reply.split('.');
  if (parts[0] !== '$JS' || parts[1] !== 'ACK' || parts.length < 9) return null;
  // With the domain and the account before the stream, and a random token at the end, in the longer form.
  const [seq, delivered, storedAt, pending] = parts.slice(parts.length === 9 ? 5 : 7);
  return {
    seq: Number(seq),
    delivered: Number(delivered),
    storedAt: storedAt ?? '',
    pending: Number(pending),
  };
}
