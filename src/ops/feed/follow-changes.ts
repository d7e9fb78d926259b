/** The feed as server-sent events (docs/http-api.md#change-feed). */
import type { ChangePosition } from '../../mirror/queries/changes.ts';
import { nextOf, whyStartOver, type ChangeFeed } from './change-feed.ts';
import { essenceOf, TRUST_EVERY_MS, type TrustFeed } from './trust-feed.ts';

/** A consumer must know that the trust it has is still true; and proxies close silent connections. */
const TRUST_REPEATED_MS = 10_000;
const RECONNECT_AFTER_MS = 1_000;

interface Following {
  readonly feed: Pick<ChangeFeed, 'news' | 'after' | 'newsWithin'>;
  readonly trust: Pick<TrustFeed, 'now'>;
  readonly from: ChangePosition;
  readonly after: number;
  readonly signal: AbortSignal;
}

export async function* followChanges({
  feed,
  trust,
  from: { epoch, lastSeq },
  after,
  signal,
}: Following): AsyncGenerator<string> {
  yield `retry: ${RECONNECT_AFTER_MS}\n${sentEvent('epoch', { epoch, last_seq: lastSeq })}`;
  let sent: { readonly essence: string; readonly atMs: number } | null = null;
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
    if (next > at) events.push(`id: ${next}\n\n`);
    at = next;
    const latest = await trust.now();
    const essence = essenceOf(latest);
    const atMs = performance.now();
    if (sent === null || essence !== sent.essence || atMs - sent.atMs >= TRUST_REPEATED_MS) {
      events.push(sentEvent('trust', latest));
      sent = { essence, atMs };
    }
    if (events.length > 0) yield events.join('');
    if (!page.hasMore) await feed.newsWithin(news, TRUST_EVERY_MS, signal);
  }
}

function sentEvent(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}
