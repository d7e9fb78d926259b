/** The feed as server-sent events (docs/http-api.md#change-feed). */
import type { Position } from '../../mirror/queries/changes.ts';
import { nextOf, whyStartOver, type ChangeFeed } from './change-feed.ts';

/** Proxies close silent connections. */
const HEARTBEAT_MS = 15_000;
const RECONNECT_AFTER_MS = 1_000;

export async function* followChanges(
  feed: Pick<ChangeFeed, 'news' | 'after' | 'newsWithin'>,
  { epoch, lastSeq }: Position,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  yield `retry: ${RECONNECT_AFTER_MS}\n${sentEvent('epoch', { epoch, last_seq: lastSeq })}`;
  for (let at = after; !signal.aborted;) {
    const { news } = feed;
    const page = await feed.after(at);
    // The next changes were pruned, or a new epoch has begun.
    const gone = whyStartOver({ after: at, epoch }, page);
    if (gone !== null) {
      yield sentEvent('gone', gone);
      return;
    }
    const next = nextOf(page);
    const events = page.changes.map((change) => `id: ${change.seq}\n${sentEvent('change', change)}`);
    // An id without an event only moves the point where the reader resumes.
    if (next > at) yield `${events.join('')}id: ${next}\n\n`;
    at = next;
    if (page.hasMore || (await feed.newsWithin(news, HEARTBEAT_MS, signal))) continue;
    if (!signal.aborted) yield ': alive\n\n';
  }
}

export function sentEvent(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}
