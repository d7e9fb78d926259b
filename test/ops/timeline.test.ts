/** What the plots of the ops page are drawn from. */
import { expect, test } from 'vitest';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import { KEPT_MINUTES, LiveTimeline } from '../../src/ops/state/timeline.ts';
import { present } from '../shared/present.ts';
import { eventually } from '../process/wait.ts';
import { log, newStore } from '../reconcile/mirror.ts';
import { delivery, item } from '../mirror/mirror-file.ts';

const MINUTE_MS = 60_000;
const T0 = 1_790_000_040_000;
const body = new Uint8Array(100);
const refusal = { status: 401, tookMs: 1, bytes: null };

function timelineAt(startMs: number) {
  const store = newStore();
  let nowMs = startMs;
  const now = () => nowMs;
  const sampler = new StateSampler({ reader: store.reader, now, log });
  const timeline = new LiveTimeline({ reader: store.reader, sampler, now, log });
  return { store, timeline, sampler, pass: (ms: number) => void (nowMs += ms) };
}

test('counts answers by minute, and says how quick they were', () => {
  const { timeline, pass } = timelineAt(T0);
  for (let i = 0; i < 98; i += 1) timeline.observer.committed(body, 3.2);
  timeline.observer.committed(body, 44);
  timeline.observer.committed(body, 290);
  timeline.observer.refused(refusal);
  pass(MINUTE_MS);
  timeline.observer.refused({ status: 503, tookMs: 800, bytes: 7 });
  pass(MINUTE_MS);
  expect(timeline.minutes(4)).toMatchObject([
    // Before the start nothing is known; after it, nothing is zero.
    { deliveries: null, refused: null, medianMs: null, p99Ms: null },
    { deliveries: 100, refused: 1, medianMs: 4, p99Ms: 50 },
    { deliveries: 0, refused: 1, medianMs: 800, p99Ms: 800 },
    { deliveries: 0, refused: 0, medianMs: null, p99Ms: null },
  ]);
  expect(present(timeline.minutes(1)[0]).atMs).toBe(Math.floor((T0 + 2 * MINUTE_MS) / MINUTE_MS) * MINUTE_MS);
  expect(timeline.slowAnswers()).toEqual([
    { atMs: T0 + MINUTE_MS, status: 503, tookMs: 800, bytes: 7 },
    { atMs: T0, status: 204, tookMs: 290, bytes: 100 },
  ]);
});

test('keeps a day, and the last fifty slow answers', () => {
  const { timeline, pass } = timelineAt(T0);
  for (let i = 0; i < KEPT_MINUTES + 100; i += 1) {
    timeline.observer.committed(body, 300 + i);
    pass(MINUTE_MS);
  }
  const day = timeline.minutes(KEPT_MINUTES);
  expect(day.slice(0, -1).every(({ deliveries }) => deliveries === 1)).toBe(true);
  expect(present(timeline.minutes(KEPT_MINUTES + 60)[0]).medianMs).toBeNull();
  expect(timeline.slowAnswers()).toHaveLength(50);
  expect(present(timeline.slowAnswers()[0]).tookMs).toBe(300 + KEPT_MINUTES + 99);
});

test('asks the log for what came before, and the store for the figures of the minute', async () => {
  const { store, timeline, sampler } = timelineAt(T0);
  const deliver = (request: string, minutesAgo: number, over = {}) =>
    store.writer.appendDelivery(delivery(request, item(over)), T0 - minutesAgo * MINUTE_MS);
  await deliver('cut', 5);
  await deliver('a', 3);
  await deliver('b', 2, { old: 4, new: 3, update_time: T0 + 1 });
  await deliver('c', 2, { old: 9, new: 8, update_time: T0 + 2 });
  await deliver('d', 0, { old: 8, new: 7, update_time: T0 + 3 });
  // Of its own time it knows better than the log, which ends somewhere in it.
  timeline.observer.committed(body, 1);
  timeline.observer.committed(body, 1);
  timeline.start();
  sampler.start();
  await eventually(() => timeline.minutes(1)[0]?.openGaps !== null, { what: 'the first figures' });
  await sampler.stop();
  await timeline.stop();
  const minutes = timeline.minutes(6);
  // The oldest minute of the log may have been longer.
  expect(minutes.map(({ deliveries }) => deliveries)).toEqual([null, null, 1, 2, null, 2]);
  expect(minutes.at(-1)).toMatchObject({ openGaps: 1, suspects: 1 });
});
