/** What the plots of the ops page are drawn from. */
import { expect, test } from 'vitest';

import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import { LiveTimeline, type TimelineDeps } from '../../src/ops/state/timeline.ts';
import { eventually } from '../process/wait.ts';
import { log, newStore, type OpenedStore } from '../reconcile/mirror.ts';

const MINUTE_MS = 60_000;
const T0 = 1_790_000_040_000;

function timelineOf(store: OpenedStore, startMs: number, over: Partial<TimelineDeps> = {}) {
  let nowMs = startMs;
  const now = () => nowMs;
  const sampler = new StateSampler({ reader: store.reader, now, log });
  const { reader, writer } = store;
  const timeline = new LiveTimeline({ reader, writer, sampler, now, log, ...over });
  return { timeline, sampler, pass: (ms: number) => void (nowMs += ms) };
}

test('counts answers by minute, and says how quick they were', () => {
  const { timeline, pass } = timelineOf(newStore(), T0);
  for (let i = 0; i < 98; i += 1) timeline.answered(204, 3.2);
  timeline.answered(204, 44);
  timeline.answered(204, 290);
  timeline.answered(401, 900);
  pass(MINUTE_MS);
  timeline.answered(503, 800);
  pass(MINUTE_MS);
  expect(timeline.minutes().slice(-4)).toMatchObject([
    // Before the start nothing is known; after it, nothing is zero.
    { deliveries: null, refused: null, p99Ms: null },
    { deliveries: 100, refused: 1, p99Ms: 50 },
    { deliveries: 0, refused: 1, p99Ms: 800 },
    { deliveries: 0, refused: 0, p99Ms: null },
  ]);
});

test('keeps the minutes in the mirror, so that a restart forgets none', async () => {
  const store = newStore();
  const { timeline, sampler, pass } = timelineOf(store, T0);
  timeline.start();
  await sampler.status();
  timeline.answered(204, 3);
  timeline.asked();
  pass(MINUTE_MS);
  await timeline.stop();

  const { timeline: again } = timelineOf(store, T0 + 4 * MINUTE_MS);
  again.start();
  const lastFive = () => again.minutes().slice(-5);
  await eventually(() => lastFive()[0]?.isKnown === true, { what: 'the noted minutes' });
  const isKnown = lastFive().map((minute) => minute.isKnown);
  expect(isKnown).toEqual([true, false, false, false, true]);
  expect(lastFive()[0]).toMatchObject({ started: 1, deliveries: 1, requests: 1, p99Ms: 3, suspects: 0 });
  await again.stop();
});
