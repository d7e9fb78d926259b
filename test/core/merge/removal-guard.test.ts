import { expect, test } from 'vitest';
import { GUARD_WINDOW_MS } from '../../../src/core/limits.ts';
import { guardCountsTo, guardHolds, removalWindow } from '../../../src/core/merge/removal-guard.ts';
import { T0 } from '../builders.ts';

test.each([
  { when: 'few of few', live: 51, missing: 50, removed: 0, holds: false },
  { when: 'more than 50, more than 5 %', live: 1_000, missing: 51, removed: 0, holds: true },
  { when: 'more than 50, exactly 5 %', live: 1_020, missing: 51, removed: 0, holds: false },
  { when: 'more than 5 %, exactly 50', live: 100, missing: 50, removed: 0, holds: false },
  { when: 'those just removed count too', live: 90, missing: 21, removed: 30, holds: true },
  { when: 'and count in what there was before', live: 999, missing: 1, removed: 51, holds: false },
  { when: 'all of a small store', live: 3, missing: 3, removed: 0, holds: true },
  { when: 'the last of a small store, after the others', live: 1, missing: 1, removed: 2, holds: true },
  { when: 'all but one of a small store', live: 3, missing: 2, removed: 0, holds: false },
  { when: 'a store of one quantity', live: 1, missing: 1, removed: 0, holds: false },
])('$when: holds $holds', ({ live, missing, removed, holds }) => {
  const count = { live, removedInWindow: removed };
  expect(guardHolds({ ...count, missing })).toBe(holds);
  expect(guardHolds({ ...count, missing: Math.min(missing, guardCountsTo(live)) })).toBe(holds);
});

test('counts removals for an hour', () => {
  const count = { removalWindowStartMs: T0, removedInWindow: 7 };
  for (const atMs of [T0, T0 + GUARD_WINDOW_MS - 1]) expect(removalWindow(count, atMs)).toBe(count);
  for (const atMs of [T0 + GUARD_WINDOW_MS, T0 - 1]) {
    expect(removalWindow(count, atMs)).toEqual({ removalWindowStartMs: atMs, removedInWindow: 0 });
  }
});
