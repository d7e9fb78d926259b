import { expect, onTestFinished, test, vi } from 'vitest';
import { ChangeFeed } from '../../src/ops/feed/change-feed.ts';
import { followChanges } from '../../src/ops/feed/follow-changes.ts';

const PAGE = { epoch: 'e', lastSeq: 4, keptAfterSeq: 0, changes: [], hasMore: false };

test('sends a comment after 15 s without a change', async () => {
  const newsWithin = vi.fn(() => Promise.resolve(false));
  const feed = { news: new AbortController().signal, after: () => Promise.resolve(PAGE), newsWithin };
  const events = followChanges(feed, PAGE, 4, new AbortController().signal);
  await events.next();
  expect((await events.next()).value).toBe(': alive\n\n');
  expect(newsWithin).toHaveBeenCalledExactlyOnceWith(feed.news, 15_000, expect.anything());
});

test('does not wake streams for a commit without a change', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const position = { inboxSeq: 0, inputSeq: 0, changeSeq: 4 };
  const listeners: ((applied: never) => void)[] = [];
  const writer = { position, onApplied: (listener: (applied: never) => void) => listeners.push(listener) };
  const feed = new ChangeFeed({ reader: { ask: vi.fn() }, writer: writer as never });
  const { news } = feed;
  const commit = (): void => {
    for (const listener of listeners) listener({} as never);
    vi.runAllTimers();
  };
  commit();
  expect(news.aborted).toBe(false);
  position.changeSeq += 1;
  commit();
  expect(news.aborted).toBe(true);
});
