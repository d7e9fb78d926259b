import { describe, expect, test } from 'vitest';
import { HELD_MS } from '../../../src/core/limits.ts';
import { PRIORITY, type Reason } from '../../../src/core/reasons.ts';
import {
  afterRead,
  conflictPauseMs,
  conflictReadsAfter,
  isMet,
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
  test('waits until a read can meet it', () => {
    expect(mergeRequests(undefined, request('conflict'))).toEqual({
      ...request('conflict'),
      priority: PRIORITY.conflict,
      isSuspect: true,
      firstMadeAtMs: T0,
      notBeforeMs: T0 + 2_000,
    });
    const early = mergeRequests(undefined, { ...request('conflict'), notBeforeMs: T0 + 1 });
    expect(early.notBeforeMs).toBe(T0 + 2_000);
    const late = mergeRequests(undefined, { ...request('conflict'), notBeforeMs: T0 + 30_000 });
    expect(late.notBeforeMs).toBe(T0 + 30_000);
  });

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

  test.each<[standing: Reason, added: Reason, reason: Reason]>([
    ['not_stored', 'conflict', 'not_stored'],
    ['conflict', 'not_stored', 'conflict'],
    ['derived', 'bundle', 'derived'],
  ])('of the same priority, %s before %s: %s', (standing, added, reason) => {
    expect(mergeRequests(mergeRequests(undefined, request(standing)), request(added)).reason).toBe(reason);
  });

  test('that is older than the open one does not move it back', () => {
    const standing = mergeRequests(undefined, request('derived', T0 + 500));
    expect(mergeRequests(standing, request('derived', T0))).toMatchObject({
      madeAtMs: T0 + 500,
      firstMadeAtMs: T0,
    });
  });

  test('replaces the reason of a held one', () => {
    const held = mergeRequests(undefined, { ...request('confirm_removal'), notBeforeMs: HELD_MS });
    expect(mergeRequests(held, request('listed', T0 + 1))).toMatchObject({
      reason: 'listed',
      notBeforeMs: T0 + 2_001,
    });
  });
});

describe('a read meets a request', () => {
  test.each<[string, number, boolean]>([
    ['made 2 s before it was sent', T0 + 2_000, true],
    ['made 1 ms later', T0 + 1_999, false],
    ['made after it was sent', T0 - 1, false],
  ])('%s', (_name, sentAtMs, met) => {
    expect(isMet(request('conflict'), { sentAtMs })).toBe(met);
    const standing = mergeRequests(undefined, request('conflict'));
    expect(afterRead(standing, { sentAtMs })).toEqual(met ? null : standing);
  });

  test('a read that was too early is repeated only when it can meet the request', () => {
    const standing = mergeRequests(
      mergeRequests(undefined, request('listed')),
      request('conflict', T0 + 1_500),
    );
    expect(standing.notBeforeMs).toBe(T0 + 2_000);
    expect(afterRead(standing, { sentAtMs: T0 + 2_000 })?.notBeforeMs).toBe(T0 + 3_500);
  });

  test('a held request is due again after a read', () => {
    const held = mergeRequests(undefined, { ...request('confirm_removal'), notBeforeMs: HELD_MS });
    expect(afterRead(held, { sentAtMs: T0 + 1_000 })?.notBeforeMs).toBe(T0 + 2_000);
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

  test('begins now if the clock was set back since the last answer', () => {
    expect(pauseEndsAtMs(product, 'conflict', T0 - 3_600_000)).toBe(T0 - 3_600_000 + 256_000);
  });
});

describe('counts conflicts in a row after a read', () => {
  const MET_MS = 2_000;
  const OVERTAKEN_MS = 1_999;
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

  test('a conflict that changes overtook lengthens no pause beyond 32 s', () => {
    expect(countAfter(5, 'conflict', 16_000, OVERTAKEN_MS)).toBe(6);
    expect(countAfter(6, 'conflict', 32_000, OVERTAKEN_MS)).toBe(6);
    // Also after contradictions that had made the pauses long.
    expect(countAfter(9, 'conflict', 256_000, OVERTAKEN_MS)).toBe(9);
  });
});
