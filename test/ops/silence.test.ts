import { expect, onTestFinished, test, vi } from 'vitest';
import { ChangeFeed } from '../../src/ops/feed/change-feed.ts';
import { followChanges } from '../../src/ops/feed/follow-changes.ts';
import type { Trust } from '../../src/ops/feed/trust-feed.ts';

const PAGE = { epoch: 'e', lastSeq: 4, keptAfterSeq: 0, changes: [], hasMore: false };

const LIVE: Trust = { state: 'live', cause: null, as_of: 1, last_seq: 0, untrusted: [], untrusted_count: 0 };

/** A stream at rest; each wait lasts as long as it may. */
function atRest(trust: () => Trust) {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const newsWithin = (_news: AbortSignal, ms: number) => {
    vi.advanceTimersByTime(ms);
    return Promise.resolve(false);
  };
  const feed = { news: new AbortController().signal, after: () => Promise.resolve(PAGE), newsWithin };
  const { signal } = new AbortController();
  const now = () => Promise.resolve(trust());
  return followChanges({ feed, trust: { now }, from: PAGE, after: 4, signal });
}

test('repeats the trust after 10 s', async () => {
  const events = atRest(() => LIVE);
  expect((await events.next()).value).toContain('event: epoch');
  expect((await events.next()).value).toContain('event: trust');
  const beganMs = performance.now();
  expect((await events.next()).value).toContain('event: trust');
  expect(performance.now() - beganMs).toBe(10_000);
});

test('sends trust again once it has changed', async () => {
  let asked = 0;
  const untrusted = [{ variant_id: '100', warehouse_id: '1', why_not: 'gap' }] as const;
  const events = atRest(() => {
    asked += 1;
    return asked < 5
      ? { ...LIVE, as_of: asked }
      : { ...LIVE, as_of: asked, last_seq: 0, untrusted, untrusted_count: 1 };
  });
  await events.next();
  expect((await events.next()).value).toContain('"as_of":1');
  expect((await events.next()).value).toBe(
    `event: trust\ndata: {"state":"live","cause":null,"as_of":5,"last_seq":0,"untrusted":[{"variant_id":"100","warehouse_id":"1","why_not":"gap"}],"untrusted_count":1}\n\n`,
  );
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
