import { expect, test } from 'vitest';
import { BRAKE_WINDOW_MS } from '../../src/core/limits.ts';
import { brakeHolds, removalWindow } from '../../src/core/removal-brake.ts';
import { T0 } from './builders.ts';

test.each([
  { when: 'few of few', live: 21, missing: 20, removed: 0, holds: false },
  { when: 'more than 20, more than 5 %', live: 400, missing: 21, removed: 0, holds: true },
  { when: 'more than 20, exactly 5 %', live: 420, missing: 21, removed: 0, holds: false },
  { when: 'more than 5 %, exactly 20', live: 100, missing: 20, removed: 0, holds: false },
  { when: 'those just removed count too', live: 90, missing: 11, removed: 10, holds: true },
  { when: 'and count in what there was before', live: 399, missing: 1, removed: 21, holds: true },
  { when: 'all of a small store', live: 3, missing: 3, removed: 0, holds: true },
  { when: 'the last of a small store, after the others', live: 1, missing: 1, removed: 2, holds: true },
  { when: 'all but one of a small store', live: 3, missing: 2, removed: 0, holds: false },
  { when: 'a store of one product', live: 1, missing: 1, removed: 0, holds: false },
  { when: '22 of 440 with those just removed', live: 419, missing: 1, removed: 21, holds: false },
])('$when: holds $holds', ({ live, missing, removed, holds }) => {
  const count = { liveProducts: live, missingProducts: missing, removalsInWindow: removed };
  expect(brakeHolds(count)).toBe(holds);
});

test('removals count for an hour', () => {
  const count = { removalWindowStartMs: T0, removalsInWindow: 7 };
  expect(removalWindow(count, T0 + BRAKE_WINDOW_MS - 1)).toBe(count);
  const fresh = { removalWindowStartMs: T0 + BRAKE_WINDOW_MS, removalsInWindow: 0 };
  expect(removalWindow(count, T0 + BRAKE_WINDOW_MS)).toEqual(fresh);
  expect(removalWindow(count, T0 - 1)).toEqual({ removalWindowStartMs: T0 - 1, removalsInWindow: 0 });
});
