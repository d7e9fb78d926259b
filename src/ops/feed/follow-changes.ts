/**
 * The feed as server-sent events: first the epoch, then each change with its number as id
 * (docs/http-api.md#change-feed).
 */
import type { FeedPage } from '../../mirror/queries/changes.ts';
import { epochError, prunedError, type StartOver } from './cursor.ts';
import type { ChangeFeed } from './change-feed.ts';

/** Proxies take silence for a broken connection. */
const HEARTBEAT_MS = 15_000;
const RECONNECT_AFTER_MS = 1_000;

interface FollowOptions {
  readonly feed: ChangeFeed;
  readonly epoch: string;
  readonly lastSeq: number;
  /** Continues after this number. */
  readonly after: number;
  readonly signal: AbortSignal;
}

export async function* followChanges({
  feed,
  epoch,
  lastSeq,
  after,
  signal,
}: FollowOptions): AsyncGenerator<string | Uint8Array, void, undefined> {
  const unfollow = feed.follow();
  try {
    yield `retry: ${RECONNECT_AFTER_MS}\n${event('epoch', { epoch, last_seq: lastSeq })}`;
    for (let at = after; !signal.aborted;) {
      const { wakes } = feed;
      const page = await feed.after(at);
      if (page.epoch !== epoch) {
        yield goneEvent(epochError(page));
        return;
      }
      if (page.keptAfterSeq > at) {
        // The reader was so slow that the next changes were pruned.
        yield goneEvent(prunedError(page, at));
        return;
      }
      if (page.lastSeq > at) yield eventsOf(page);
      at = nextOf(page);
      if (page.hasMore) continue;
      const isNews = await feed.newsSince(wakes, HEARTBEAT_MS, signal);
      if (!isNews && !signal.aborted) yield ': alive\n\n';
    }
  } finally {
    unfollow();
  }
}

/** To a consumer that must start over, in the middle of a stream. */
function goneEvent(why: StartOver): string {
  return event('gone', why);
}

/** Where to continue. Numbers without a row, such as those of changed names, are skipped when nothing else is left. */
export function nextOf({ changes, hasMore, lastSeq }: FeedPage): number {
  return hasMore ? (changes.at(-1)?.seq ?? lastSeq) : lastSeq;
}

/** Many streams send the same page. */
const encoded = new WeakMap<FeedPage, Uint8Array>();
const encoder = new TextEncoder();

function eventsOf(page: FeedPage): Uint8Array {
  const known = encoded.get(page);
  if (known !== undefined) return known;
  const events = page.changes.map((change) => `id: ${change.seq}\n${event('change', change)}`).join('');
  // An id alone dispatches no event, but moves the point where the reader resumes.
  const bytes = encoder.encode(`${events}id: ${nextOf(page)}\n\n`);
  encoded.set(page, bytes);
  return bytes;
}

function event(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}
