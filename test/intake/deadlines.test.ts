import { beforeEach, afterEach, expect, test, vi } from 'vitest';
import { Deadlines } from '../../src/intake/deadlines.ts';

beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }),
);
afterEach(() => void vi.useRealTimers());

test('each passes at its own time, in whatever order they were set', () => {
  const deadlines = new Deadlines();
  const passed: number[] = [];
  const startMs = performance.now();
  for (const ms of [800, 300, 800, 500]) {
    deadlines.after(ms, () => passed.push(performance.now() - startMs));
  }
  vi.advanceTimersByTime(1_000);
  // An immediate of the fake clock takes a millisecond.
  expect(passed).toEqual([301, 501, 801, 801]);
  deadlines.after(100, () => passed.push(performance.now() - startMs));
  vi.advanceTimersByTime(1_000);
  expect(passed.at(-1)).toBe(1_101);
});

test('one that is met does not pass, and holds back none', () => {
  const deadlines = new Deadlines();
  const passed: string[] = [];
  const met = deadlines.after(300, () => passed.push('met'));
  deadlines.after(400, () => passed.push('late'));
  met.cancel();
  vi.advanceTimersByTime(1_000);
  expect(passed).toEqual(['late']);
});

test('what has come in the meantime is looked at first: it may say that a deadline was met', () => {
  const deadlines = new Deadlines();
  const passed: string[] = [];
  const met = deadlines.after(300, () => passed.push('met'));
  // As an answer that waited in the queue of a thread that was busy.
  setTimeout(() => met.cancel(), 300);
  vi.advanceTimersByTime(1_000);
  expect(passed).toEqual([]);
});
