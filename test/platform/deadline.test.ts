import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startDeadline } from '../../src/platform/deadline.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('aborts when the time is over', () => {
  const deadline = startDeadline(50);
  vi.advanceTimersByTime(49);
  expect(deadline.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(deadline.isOver()).toBe(true);
  expect(deadline.signal.reason).toMatchObject({ name: 'TimeoutError' });
});

it.each(['before', 'after'])('aborts with an outer signal that aborted %s it began', (when) => {
  const outer = new AbortController();
  const why = new Error('stopped');
  if (when === 'before') outer.abort(why);
  const deadline = startDeadline(50, outer.signal);
  if (when === 'after') outer.abort(why);
  expect(deadline.signal.reason).toBe(why);
  expect(deadline.isOver()).toBe(false);
});

it('does nothing once it is released', () => {
  const outer = new AbortController();
  const deadline = startDeadline(50, outer.signal);
  deadline.release();
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(outer.signal, 'abort')).toEqual([]);
});
