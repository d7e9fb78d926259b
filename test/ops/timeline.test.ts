/** What the plots of the ops page are drawn from. */
import { expect, test } from 'vitest';
import type { Fact } from '../../src/core/apply/fact.ts';
import type { Gap } from '../../src/core/model.ts';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import { KEPT_MINUTES, LiveTimeline, type TimelineDeps } from '../../src/ops/state/timeline.ts';
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

test('keeps a day', () => {
  const { timeline, pass } = timelineOf(newStore(), T0);
  for (let i = 0; i < KEPT_MINUTES + 100; i += 1) {
    timeline.answered(204, 3);
    pass(MINUTE_MS);
  }
  const day = timeline.minutes();
  expect(day).toHaveLength(KEPT_MINUTES);
  expect(day.slice(0, -1).every(({ deliveries }) => deliveries === 1)).toBe(true);
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

test('counts losses as they are proven', async () => {
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
  const { timeline } = timelineOf(newStore(), T0, { writer });
  timeline.start();
  const drift = { productId: '1', variantId: '100', warehouseId: '7', oldQty: 4, newQty: 5 };
  apply([
    { kind: 'gap_proved', gap: { openedAtMs: T0 - 4_000 } as Gap, productId: '1' },
    // The read that proves it also corrects it.
    { kind: 'drift', cause: 'gap', ...drift },
    { kind: 'drift', cause: 'lost_tail', ...drift },
    { kind: 'drift', cause: 'downtime', ...drift },
    { kind: 'drift', cause: 'derived', ...drift },
  ]);
  expect(timeline.minutes().at(-1)).toMatchObject({ lost: 3 });
  await timeline.stop();
});
