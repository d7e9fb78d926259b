/** Batches after a position, from the stream, until it fails. */
import { toChange, toStartOver, toTrust } from './answers.ts';
import { CopyTrust } from './copy-trust.ts';
import { FeedError, StartOver } from './errors.ts';
import type { MirrorApi } from './mirror-api.ts';
import { rowsAt } from './rows-at.ts';
import { BlockReader, type SentEvent } from './sent-events.ts';
import type { Batch, Change, Position, TrustBatch } from './model.ts';

interface FollowerOptions {
  readonly mirror: MirrorApi;
  readonly position: Position;
  readonly signal: AbortSignal;
}

/** The mirror repeats the trust every 10 s. */
const SILENCE_MS = 45_000;
/** A proxy that collects the stream shows none of it for long. */
const FIRST_EVENT_MS = 10_000;
/** A caller that was busy for longer finds only old events in the buffers: it connects again. */
const BUSY_MS = 30_000;
const MOST_CHANGES = 10_000;

export class Follower {
  position: Position;
  /** Has the mirror answered since this was set to false? */
  hasAnswered = false;
  /** When the caller was last given the trust of a copy that is up to date; performance.now(). */
  confirmedAtMs = Number.NEGATIVE_INFINITY;
  readonly #mirror: MirrorApi;
  readonly #signal: AbortSignal;
  readonly #trust = new CopyTrust();

  constructor({ mirror, position, signal }: FollowerOptions) {
    this.#mirror = mirror;
    this.position = position;
    this.#signal = signal;
  }

  /** @throws FeedError, StartOver. Returns when the stream should be opened again. */
  async *stream(): AsyncGenerator<Batch, void, undefined> {
    const closing = new AbortController();
    const signal = AbortSignal.any([this.#signal, closing.signal]);
    let watchdog = setTimeout(() => closing.abort(), FIRST_EVENT_MS);
    this.#trust.lost();
    try {
      const bytes = await this.#mirror.stream(this.position, signal);
      const decoder = new TextDecoder();
      const reader = new BlockReader();
      let changes: Change[] = [];
      for await (const chunk of bytes) {
        clearTimeout(watchdog);
        const tookAtMs = performance.now();
        for (const event of reader.take(decoder.decode(chunk, { stream: true }))) {
          this.hasAnswered = true;
          if (event.name === 'change') changes.push(toChange(parsed(event)));
          else if (event.name === 'trust') this.#trust.received(toTrust(parsed(event)));
          else if (event.name === 'gone') throw new StartOver(toStartOver(parsed(event)));
          else if (event.name === '' && event.id !== null) {
            yield await this.#batchOf(changes, Number(event.id));
            changes = [];
          }
          if (changes.length > MOST_CHANGES)
            throw new FeedError('malformed', 'a page of the stream never ends');
          const trust = changes.length === 0 ? this.#trustBatch() : null;
          if (trust !== null) yield trust;
        }
        if (performance.now() - tookAtMs > BUSY_MS) return;
        watchdog = setTimeout(() => closing.abort(), SILENCE_MS);
      }
      throw new FeedError('unavailable', 'the mirror or a proxy has ended the stream');
    } catch (error) {
      if (error instanceof FeedError || error instanceof StartOver) throw error;
      throw new FeedError('unavailable', 'the stream was cut off or became silent', { cause: error });
    } finally {
      clearTimeout(watchdog);
      closing.abort();
    }
  }

  async #batchOf(changes: readonly Change[], seq: number): Promise<Batch> {
    if (!Number.isSafeInteger(seq)) throw new FeedError('malformed', 'a number of the stream is none');
    const variantIds = [...new Set(changes.map(({ variant_id: id }) => id))];
    const { rows: present, asOfMs } = await this.#mirror.rowsOf(variantIds, this.#signal);
    const { rows, removed } = rowsAt({ changes, present, seq });
    this.#trust.copied(rows, removed, asOfMs);
    this.position = { epoch: this.position.epoch, seq };
    return { kind: 'changes', changes, rows, removed, position: this.position };
  }

  #trustBatch(): TrustBatch | null {
    const trust = this.#trust.take(this.position.seq);
    if (trust === null) return null;
    this.confirmedAtMs = performance.now();
    return { kind: 'trust', trust, position: this.position };
  }
}

function parsed({ name, data }: SentEvent): unknown {
  try {
    return JSON.parse(data);
  } catch (error) {
    throw new FeedError('malformed', `the data of the event ${name} is no JSON`, { cause: error });
  }
}
