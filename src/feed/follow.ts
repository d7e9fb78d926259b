import { setTimeout as sleep } from 'node:timers/promises';
import { FeedError, StartOver } from './errors.ts';
import { Follower } from './follower.ts';
import { MirrorApi } from './mirror-api.ts';
import type { Batch, Position, TrustBatch } from './model.ts';
import { Snapshot } from './snapshot.ts';

export interface FollowOptions {
  /** The mirror's private listener, such as http://127.0.0.1:8788. */
  readonly url: string | URL;
  /** Its OPS_READ_TOKEN. */
  readonly token?: string | undefined;
  /** The position that was stored with the rows; null: begin with the whole stock. */
  readonly position: Position | null;
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
  /** `poll` never uses the stream; default: `stream`. */
  readonly transport?: 'stream' | 'poll' | undefined;
  /** How long a long poll waits, 1 to 60 s; default 25, because many proxies cut after 30. */
  readonly waitSeconds?: number | undefined;
  /** Called before each pause; default: a process warning. */
  readonly onProblem?: ((problem: FeedError, pauseMs: number) => void) | undefined;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** After this time without trust from the mirror, the caller gets a batch that trusts no row. */
const UNCONFIRMED_MS = 30_000;
/** Streams that failed in a row while polls were answered. */
const FAILED_STREAMS = 2;
const POLL_FOR_MS = 600_000;

/**
 * Follows a mirror: the whole stock, then every change, and the trust of the rows. Store `position` in the transaction
 * of the rows, and give it back at the next start. Failures are retried for ever, with pauses up to 30 s.
 * @throws FeedError `refused`: the token is wrong. TypeError, RangeError for impossible options.
 */
export async function* follow(options: FollowOptions): AsyncGenerator<Batch, void, undefined> {
  const { waitSeconds = 25, transport = 'stream', onProblem = warn } = options;
  if (!Number.isInteger(waitSeconds) || waitSeconds < 1 || waitSeconds > 60) {
    throw new RangeError('waitSeconds: a whole number from 1 to 60');
  }
  const mirror = new MirrorApi(options);
  const closing = new AbortController();
  const signals = [closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const signal = AbortSignal.any(signals);
  const startFrom = (position: Position): Follower => new Follower({ mirror, position, waitSeconds, signal });

  let follower = options.position === null ? null : startFrom(options.position);
  let snapshot = new Snapshot(mirror, 'first');
  const route = new Route(transport);
  let pauseMs = FIRST_PAUSE_MS;
  try {
    while (!signal.aborted) {
      try {
        if (follower === null) {
          const part = await snapshot.next(signal);
          yield part;
          if (part.position !== null) follower = startFrom(part.position);
          pauseMs = FIRST_PAUSE_MS;
          continue;
        }
        follower.hasAnswered = false;
        yield* route.isStream ? follower.stream() : follower.poll(route.isProbe ? 0 : waitSeconds);
        route.worked();
        pauseMs = FIRST_PAUSE_MS;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof StartOver) {
          // The mirror knows nothing of the copy's rows, and may take long until it has read the store.
          if (follower !== null) yield noTrust('starting_over', follower.position);
          follower = null;
          snapshot = new Snapshot(mirror, error.reason);
          continue;
        }
        if (!(error instanceof FeedError) || error.kind === 'refused') throw error;
        const hasAnswered = follower?.hasAnswered === true;
        if (hasAnswered) pauseMs = FIRST_PAUSE_MS;
        route.failed(hasAnswered);
        const unconfirmedInMs = follower === null ? Infinity : unconfirmedIn(follower);
        const thisPauseMs = Math.min(
          Math.max(pauseMs * (0.5 + Math.random() / 2), error.retryAfterMs ?? 0),
          LONGEST_PAUSE_MS,
          unconfirmedInMs > 0 ? unconfirmedInMs : UNCONFIRMED_MS,
        );
        onProblem(error, thisPauseMs);
        if (follower !== null && unconfirmedInMs <= 0) {
          follower.confirmedAtMs = performance.now();
          yield noTrust('unreachable', follower.position);
        }
        pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
        await sleep(thisPauseMs, undefined, { signal }).catch(() => undefined);
      }
    }
  } finally {
    closing.abort();
  }
}

/** Chooses between stream and polls. After a stream that fails, one poll shows whether only the stream is at fault. */
class Route {
  readonly #transport: 'stream' | 'poll';
  #failedStreams = 0;
  #isProbing = false;
  #pollUntilMs = Number.NEGATIVE_INFINITY;

  constructor(transport: 'stream' | 'poll') {
    this.#transport = transport;
  }

  get isProbe(): boolean {
    return this.#isProbing;
  }

  get isStream(): boolean {
    return this.#transport === 'stream' && !this.#isProbing && performance.now() >= this.#pollUntilMs;
  }

  worked(): void {
    if (!this.#isProbing) return;
    this.#isProbing = false;
    if (this.#failedStreams < FAILED_STREAMS) return;
    this.#failedStreams = 0;
    this.#pollUntilMs = performance.now() + POLL_FOR_MS;
  }

  failed(hadAnswered: boolean): void {
    if (this.isStream && !hadAnswered) {
      this.#failedStreams += 1;
      this.#isProbing = true;
    } else {
      // A stream that sent something works; a poll that failed says that the mirror is away.
      this.#failedStreams = 0;
      this.#isProbing = false;
    }
  }
}

function unconfirmedIn({ confirmedAtMs }: Follower): number {
  return confirmedAtMs + UNCONFIRMED_MS - performance.now();
}

function noTrust(cause: 'unreachable' | 'starting_over', position: Position): TrustBatch {
  const trust = {
    state: 'stale',
    cause,
    as_of: Date.now(),
    untrusted: null,
    untrusted_count: null,
  };
  return { kind: 'trust', trust, position };
}

function warn(problem: FeedError): void {
  process.emitWarning(problem.message, 'StockMirrorFeedWarning');
}
