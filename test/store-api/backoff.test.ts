import { expect, test } from 'vitest';
import { fullJitterMs } from '../../src/store-api/backoff.ts';

const POLICY = { baseMs: 1_000, capMs: 60_000 };

test.each([
  [1, 0.5, 500],
  [2, 0.5, 1_000],
  [4, 0.5, 4_000],
  [7, 0.5, 30_000],
  [1_000, 0.5, 30_000],
  [1, 0, 100],
  [9, 0, 100],
  [0, 0.5, 500],
])('waits after attempt %i at %f of its range for %i ms', (attempt, random, waitMs) => {
  expect(fullJitterMs(attempt, POLICY, random)).toBe(waitMs);
});
