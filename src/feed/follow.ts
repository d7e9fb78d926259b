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
  /** Called before each pause; default: a process warning. */
  readonly onProblem?: ((problem: FeedError, pauseMs: number) => void) | undefined;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** After this time without trust from the mirror, the caller gets a batch that trusts no row. */
const UNCONFIRMED_MS = 30_000;

/**
 * Follows a mirror: the whole stock, then every change, and the trust of the rows. Store `position` in the transaction
 * of the rows, and give it back at the next start. Failures are retried for ever, with pauses up to 30 s.
 * @throws FeedError `refused`: the token is wrong. TypeError for an impossible address.
 */
export async function* follow(options: FollowOptions): AsyncGenerator<Batch, void, undefined> {
  const { onProblem = warn } = options;
  const mirror = new MirrorApi(options);
  const closing = new AbortController();
  const signals = [closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const signal = AbortSignal.any(signals);
  const startFrom = (position: Position): Follower => new Follower({ mirror, position, signal });

  let source = options.position === null ? new Snapshot(mirror, 'first') : startFrom(options.position);
  let pauseMs = FIRST_PAUSE_MS;
  try {
    while (!signal.aborted) {
      try {
        if (source instanceof Snapshot) {
          const part = await source.next(signal);
          yield part;
          if (part.position !== null) source = startFrom(part.position);
        } else {
          source.hasAnswered = false;
          yield* source.stream();
        }
        pauseMs = FIRST_PAUSE_MS;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof StartOver) {
          // The mirror knows nothing of the copy's rows, and may take long until it has read the store.
          if (source instanceof Follower) yield noTrust('starting_over', source.position);
          source = new Snapshot(mirror, error.reason);
          continue;
        }
        if (!(error instanceof FeedError) || error.kind === 'refused') throw error;
        const follower = source instanceof Follower ? source : null;
        if (follower?.hasAnswered === true) pauseMs = FIRST_PAUSE_MS;
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
