import { describe, expect, test } from 'vitest';
import { HELD_MS } from '../../../src/core/limits.ts';
import { PRIORITY, type Reason } from '../../../src/core/reasons.ts';
import {
  afterRead,
  conflictPauseMs,
  conflictReadsAfter,
  isMet,
  mergeRequests,
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

test('pauses overtaken conflict reads for up to 32 s and settled ones for up to 15 minutes', () => {
  const countOf = (
    outcome: 'met' | 'overtaken',
    conflictReads = 0,
    afterMs = conflictPauseMs(conflictReads),
  ): number => {
    const product = { ...unreadProduct('1'), conflictReads, readAtMs: T0, readUntilMs: T0 };
    const sentAtMs = T0 + 3_000 + afterMs;
    const madeAtMs = outcome === 'met' ? sentAtMs - 2_000 : sentAtMs - 1_999;
    const standing = mergeRequests(undefined, request('conflict', madeAtMs));
    return conflictReadsAfter(product, standing, { sentAtMs });
  };
  const after100 = (outcome: 'met' | 'overtaken'): number =>
    Array.from({ length: 100 }).reduce<number>((reads) => countOf(outcome, reads), 0);
  expect(conflictPauseMs(after100('overtaken'))).toBe(32_000);
  expect(conflictPauseMs(after100('met'))).toBe(15 * 60_000);
  // Also after contradictions that had made the pauses long.
  expect(conflictPauseMs(after100('met'), 'overtaken')).toBe(30_000);
  expect(countOf('overtaken', 9)).toBe(9);
  expect(countOf('met', 9, 2 * conflictPauseMs(9))).toBe(1);
});
