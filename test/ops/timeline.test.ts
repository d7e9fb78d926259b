/** What the plots of the ops page are drawn from. */
import { expect, test } from 'vitest';
import type { Fact } from '../../src/core/apply/fact.ts';
import type { Gap } from '../../src/core/model.ts';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import { KEPT_MINUTES, LiveTimeline, type TimelineDeps } from '../../src/ops/state/timeline.ts';
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
  const timeline = new LiveTimeline({ reader: store.reader, writer: store.writer, sampler, now, log });
  return { store, timeline, sampler, pass: (ms: number) => void (nowMs += ms) };
}

test('counts answers by minute, and says how quick they were', () => {
  const { timeline, pass } = timelineAt(T0);
  for (let i = 0; i < 98; i += 1) timeline.observer.committed(body, 3.2);
  timeline.observer.committed(body, 44);
  timeline.observer.committed(body, 290);
  timeline.observer.refused(refusal);
  pass(MINUTE_MS);
  timeline.observer.refused({ status: 503, tookMs: 800 });
  pass(MINUTE_MS);
  expect(timeline.minutes(4)).toMatchObject([
    // Before the start nothing is known; after it, nothing is zero.
    { deliveries: null, refused: null, medianMs: null, p99Ms: null },
    { deliveries: 100, refused: 1, medianMs: 4, p99Ms: 50 },
    { deliveries: 0, refused: 1, medianMs: 800, p99Ms: 800 },
    { deliveries: 0, refused: 0, medianMs: null, p99Ms: null },
  ]);
  expect(present(timeline.minutes(1)[0]).atMs).toBe(Math.floor((T0 + 2 * MINUTE_MS) / MINUTE_MS) * MINUTE_MS);
});

test('keeps a week', () => {
  const { timeline, pass } = timelineAt(T0);
  for (let i = 0; i < KEPT_MINUTES + 100; i += 1) {
    timeline.observer.committed(body, 300 + i);
    pass(MINUTE_MS);
  }
  const week = timeline.minutes(KEPT_MINUTES);
  expect(week.slice(0, -1).every(({ deliveries }) => deliveries === 1)).toBe(true);
  expect(present(timeline.minutes(KEPT_MINUTES + 60)[0]).medianMs).toBeNull();
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

test('a restart forgets nothing: the minutes are in the mirror, and the gap between them is known to be one', async () => {
  const { store, timeline, sampler, pass } = timelineAt(T0);
  timeline.start();
  await sampler.status();
  timeline.observer.committed(body, 3);
  timeline.asked();
  timeline.arrived(700);
  pass(MINUTE_MS);
  timeline.observer.committed(body, 3);
  await timeline.stop();

  const now = () => T0 + 5 * MINUTE_MS;
  const after = new StateSampler({ reader: store.reader, now, log });
  const again = new LiveTimeline({ reader: store.reader, writer: store.writer, sampler: after, now, log });
  again.start();
  await eventually(() => again.minutes(6)[0]?.isKnown === true, { what: 'what was noted' });
  expect(again.minutes(6)).toMatchObject([
    { isKnown: true, started: 1, deliveries: 1, requests: 1, medianMs: 3, arrivalP99Ms: 700, openGaps: 0 },
    // It was not sampled, so that only the log tells of it.
    { isKnown: false, deliveries: 1 },
    { isKnown: false, deliveries: null },
    { isKnown: false, deliveries: null },
    { isKnown: false, deliveries: null },
    { isKnown: true, started: 1, deliveries: 0 },
  ]);
  await again.stop();
});

test('what is lost, corrected and repaired is counted as it is applied', async () => {
  const { store, sampler } = timelineAt(T0);
  let apply: (facts: readonly Fact[]) => void = () => undefined;
  const writer: TimelineDeps['writer'] = {
    command: () => Promise.reject(new Error('not in this test')),
    onApplied(listener) {
      apply = (facts) =>
        listener({ reports: [{ seq: 1, facts, detailLost: false, failed: null }] } as unknown as Parameters<
          typeof listener
        >[0]);
      return () => undefined;
    },
  };
  const timeline = new LiveTimeline({ reader: store.reader, writer, sampler, now: () => T0, log });
  timeline.start();
  const drift = { productId: '1', variantId: '100', warehouseId: '7', oldQty: 4, newQty: 5 };
  const gap = { openedAtMs: T0 - 4_000 } as Gap;
  apply([
    { kind: 'gap_proved', gap, productId: '1' },
    { kind: 'drift', cause: 'gap', ...drift },
    { kind: 'drift', cause: 'lost_tail', ...drift },
    { kind: 'drift', cause: 'downtime', ...drift },
    { kind: 'met', productId: '1', reason: 'canary', ageMs: 90_000 },
  ]);
  expect(timeline.minutes(1)).toMatchObject([
    {
      lostInGap: 1,
      lostTail: 1,
      lostInDowntime: 1,
      corrected: 3,
      repaired: 2,
      repairMedianMs: 5_000,
      repairP99Ms: 90_000,
    },
  ]);
  await timeline.stop();
});
