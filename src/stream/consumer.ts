/** Appends what other hosts have published, from the position in the inbox, which is stored with the rows. */
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import type { StreamPosition } from '../inbox/inbox-file.ts';
import type { Missed } from '../core/input.ts';
import { missedBody } from '../inbox/missed.ts';
import type { Engine, Log, LogMessage } from './engine.ts';
import type { NewRow, OwnHost } from './own-host.ts';

/** Messages after the position may be missing. */
export function isLost({ streamId, streamSeq }: StreamPosition, log: Log): boolean {
  return log.id !== streamId || log.firstSeq > streamSeq + 1 || log.lastSeq < streamSeq;
}

interface ConsumerDeps {
  readonly host: Pick<OwnHost, 'append' | 'hostId' | 'lastRun' | 'now'>;
  readonly engine: Promise<Engine>;
  /** Called for each new position, which is in the inbox. @param isNewLog numbers before mean nothing any more. */
  readonly onReached: (streamSeq: number, isNewLog: boolean) => void;
  readonly onMissed: (missed: Missed) => void;
  readonly onError: (error: unknown) => void;
}

const RETRY_MS = 1_000;
/** A server that has just begun to lead the stream may not know its last messages for a moment. */
const BELIEVED_AFTER_MS = 5_000;
/** One transaction. */
const MESSAGES_AT_ONCE = 128;
const BYTES_AT_ONCE = 1 << 20;

export class Consumer {
  readonly #deps: ConsumerDeps;
  #position: StreamPosition;
  /** The stream has seemed to end before the position since then. */
  #isShortSinceMs: number | null = null;
  /** The log's last message when this host started; null while it is not known. */
  #startsAtSeq: number | null = null;
  /** Everything that was in the log when this host started is here. */
  hasCaughtUp = false;
  /** Nothing is read since then, and the log may be another one, whose numbers mean nothing here; null while it is read. */
  unreadSinceMs: number | null = null;

  constructor(deps: ConsumerDeps) {
    this.#deps = deps;
    const { streamId, streamSeq } = deps.host.lastRun;
    this.#position = { streamId, streamSeq };
    deps.onReached(streamSeq, false);
  }

  async run(signal: AbortSignal): Promise<void> {
    const engine = await this.#deps.engine;
    while (!signal.aborted) {
      try {
        await engine.prepare();
        await this.#findPosition(engine);
        this.unreadSinceMs = null;
        await this.#read(engine, signal);
      } catch (error) {
        if (!signal.aborted) this.#deps.onError(error);
      }
      this.unreadSinceMs ??= this.#deps.host.now();
      await wait(RETRY_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
  }

  async #findPosition(engine: Engine): Promise<void> {
    const log = await engine.log();
    const { streamId, streamSeq } = this.#position;
    const isShort = log.id === streamId && log.lastSeq < streamSeq;
    this.#isShortSinceMs = isShort ? (this.#isShortSinceMs ?? this.#deps.host.now()) : null;
    if (isShort && this.#deps.host.now() - (this.#isShortSinceMs ?? 0) < BELIEVED_AFTER_MS) {
      throw new Error(`the stream ends at ${log.lastSeq}, before the position ${streamSeq} of this host`);
    }
    if (isLost(this.#position, log)) {
      await this.#append([this.#gap()], { streamId: log.id, streamSeq: log.lastSeq });
    }
    this.#startsAtSeq ??= log.lastSeq;
    this.#lookWhetherCaughtUp();
  }

  async #read(engine: Engine, signal: AbortSignal): Promise<void> {
    const reading = new AbortController();
    const messages = engine.read(this.#position.streamSeq + 1, AbortSignal.any([signal, reading.signal]));
    try {
      for await (const batch of inBatches(messages)) await this.#take(batch);
    } finally {
      reading.abort();
    }
  }

  async #take(messages: readonly LogMessage[]): Promise<void> {
    const { streamId } = this.#position;
    const rows: NewRow[] = [];
    let { streamSeq } = this.#position;
    for (const message of messages) {
      if (message.seq > streamSeq + 1) rows.push(this.#gap());
      const row = this.#rowOf(message);
      if (row !== null) rows.push(row);
      streamSeq = message.seq;
    }
    await this.#append(rows, { streamId, streamSeq });
    this.#lookWhetherCaughtUp();
  }

  /**
   * @returns null for this host's own `missed` rows, unless they may be later than its inbox, which an older copy may have
   * replaced. Its own deliveries are recognised by their hash.
   */
  #rowOf({ seq, subject, body, hostId }: LogMessage): NewRow | null {
    if (subject === 'deliveries') return { kind: 'delivery', body };
    if (subject === 'tests') return { kind: 'test', body };
    const isOfThisRun = seq > (this.#startsAtSeq ?? Infinity);
    return isOfThisRun && hostId === this.#deps.host.hostId ? null : { kind: 'missed', body };
  }

  #gap(): NewRow {
    const missed: Missed = { why: 'stream_gap', sinceMs: null, untilMs: Date.now(), variantIds: null };
    this.#deps.onMissed(missed);
    return { kind: 'missed', body: missedBody(missed) };
  }

  async #append(rows: readonly NewRow[], position: StreamPosition): Promise<void> {
    await this.#deps.host.append(rows, position);
    const isNewLog = position.streamId !== this.#position.streamId;
    this.#position = position;
    this.#deps.onReached(position.streamSeq, isNewLog);
  }

  #lookWhetherCaughtUp(): void {
    if (this.#position.streamSeq >= (this.#startsAtSeq ?? Infinity)) this.hasCaughtUp = true;
  }
}

/** Takes together what has arrived by the time that a batch is wanted; a batch that is not full waits for nothing. */
async function* inBatches(messages: AsyncIterable<LogMessage>): AsyncGenerator<LogMessage[]> {
  const iterator = messages[Symbol.asyncIterator]();
  let next = iterator.next();
  for (;;) {
    const first = await next;
    if (first.done === true) return;
    const batch = [first.value];
    let bytes = first.value.body.byteLength;
    next = iterator.next();
    while (batch.length < MESSAGES_AT_ONCE && bytes < BYTES_AT_ONCE) {
      const more = await Promise.race([next, turn(null)]);
      if (more === null || more.done === true) break;
      batch.push(more.value);
      bytes += more.value.body.byteLength;
      next = iterator.next();
    }
    // Otherwise a failure while the batch is appended would go unhandled.
    next.catch(() => undefined);
    yield batch;
  }
}
