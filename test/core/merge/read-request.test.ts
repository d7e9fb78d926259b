import { describe, expect, test } from 'vitest';
import { PRIORITY, type Reason } from '../../../src/core/reasons.ts';
import {
  conflictPauseMs,
  conflictReadsAfter,
  mergeRequests,
  pauseEndsAtMs,
} from '../../../src/core/merge/read-request.ts';
import { unreadProduct } from '../../../src/core/merge/unknown.ts';
import { PRODUCT, T0 } from '../builders.ts';

const request = (reason: Reason, madeAtMs = T0) => ({
  productId: PRODUCT,
  reason,
  madeAtMs,
  notBeforeMs: 0,
});

test('stays or becomes suspect when a suspect request joins a wish', () => {
  const wish = mergeRequests(undefined, request('operator'));
  const both = mergeRequests(wish, request('conflict'));
  expect(both.isSuspect).toBe(true);
  expect(mergeRequests(both, request('listed')).isSuspect).toBe(true);
  expect(mergeRequests(wish, request('listed')).isSuspect).toBe(false);
});

describe('a new request', () => {
  test('joins an open one with the latest instant, oldest age, higher priority and earlier read', () => {
    const standing = mergeRequests(undefined, request('listed'));
    expect(mergeRequests(standing, request('conflict', T0 + 500))).toEqual({
      productId: PRODUCT,
      reason: 'conflict',
      priority: PRIORITY.conflict,
      isSuspect: true,
      madeAtMs: T0 + 500,
      firstMadeAtMs: T0,
      notBeforeMs: T0 + 2_000,
    });
  });

  test('of a lower or the same priority keeps the reason', () => {
    const standing = mergeRequests(undefined, request('conflict'));
    expect(mergeRequests(standing, request('listed')).reason).toBe('conflict');
    expect(mergeRequests(standing, request('listed')).priority).toBe(PRIORITY.conflict);
    expect(mergeRequests(standing, request('dead_letter')).reason).toBe('conflict');
  });
});

test.each([
  [2, 0],
  [3, 4_000],
  [5, 16_000],
  [99, 15 * 60_000],
])('after %i conflicts in a row, pauses %i ms', (reads, pauseMs) => {
  expect(conflictPauseMs(reads)).toBe(pauseMs);
});

describe('the pause after a product’s conflicts', () => {
  const product = { ...unreadProduct(PRODUCT), readUntilMs: T0, conflictReads: 9 };

  test.each<[Reason, endsAtMs: number]>([
    ['conflict', T0 + 256_000],
    ['derived', T0 + 10_000],
    ['not_stored', T0],
  ])('delays a request for the reason %s', (reason, endsAtMs) => {
    expect(pauseEndsAtMs(product, reason, T0 + 1_000)).toBe(endsAtMs);
  });
});

describe('counts conflicts in a row after a read', () => {
  const MET_MS = 2_000;
  const product = { ...unreadProduct(PRODUCT), readAtMs: T0, readUntilMs: T0 + 50 };

  /** @param sentAfterMs after the last answer. */
  const countAfter = (
    reads: number,
    reason: Reason | null,
    sentAfterMs: number,
    madeBeforeMs = MET_MS,
  ): number => {
    const sentAtMs = product.readUntilMs + sentAfterMs;
    const standing =
      reason === null ? undefined : mergeRequests(undefined, request(reason, sentAtMs - madeBeforeMs));
    return conflictReadsAfter({ ...product, conflictReads: reads }, standing, { sentAtMs });
  };

  test.each<[when: string, reads: number, reason: Reason | null, sentAfterMs: number, count: number]>([
    ['nothing requested it', 4, null, 60_000, 3],
    ['nothing requested it, and there were none', 0, null, 60_000, 0],
    ['another reason requested it', 4, 'derived', 60_000, 3],
    ['the pause is over', 4, 'conflict', 8_000, 5],
    ['the pause is not over', 4, 'conflict', 7_999, 4],
    ['twice the pause is over', 9, 'conflict', 512_000 - 50, 1],
    ['twice the pause is not over', 9, 'conflict', 512_000 - 51, 10],
    ['a minute is over, which is more than twice the pause', 4, 'conflict', 60_000 - 50, 1],
    ['a minute is not over', 4, 'conflict', 60_000 - 51, 5],
  ])('%s: %i, %s, %i ms after the last read', (...[, reads, reason, sentAfterMs, count]) => {
    expect(countAfter(reads, reason, sentAfterMs)).toBe(count);
  });
});
