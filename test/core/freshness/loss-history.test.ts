import { expect, test } from 'vitest';
import { LossHistory, lostSince } from '../../../src/core/freshness/loss-history.ts';

const T0 = 1_700_000_040_000;
const MINUTE_MS = 60_000;

/** A change every second. */
function history(minutes: number): { losses: LossHistory; nowMs: number } {
  const losses = LossHistory.begunAt(T0);
  for (let s = 0; s < minutes * 60; s++) losses.received(1, T0 + s * 1_000);
  return { losses, nowMs: T0 + minutes * MINUTE_MS };
}

test('nothing proven, little is expected lost, and more with time', () => {
  const { losses, nowMs } = history(60);
  const judged = losses.at(nowMs);
  const hour = lostSince(judged, T0);
  expect(hour).toBeGreaterThan(0);
  expect(hour).toBeLessThan(3_600 * 1e-4 * 1.01);
  expect(lostSince(judged, nowMs - 10 * MINUTE_MS)).toBeLessThan(hour);
  expect(lostSince(judged, nowMs)).toBe(0);
});

test('calm makes the rate fall, proofs make it rise', () => {
  const { losses, nowMs } = history(600);
  const calm = losses.at(nowMs).lossRate;
  expect(calm).toBeLessThan(1e-4);
  for (let i = 0; i < 20; i++) losses.proved(nowMs - 30_000, nowMs);
  expect(losses.at(nowMs).lossRate).toBeGreaterThan(5 * calm);
});

test('proofs are forgotten', () => {
  const { losses, nowMs } = history(60);
  for (let i = 0; i < 50; i++) losses.proved(nowMs - 1, nowMs);
  const proven = losses.at(nowMs);
  expect(proven.provenInLastHour).toBeCloseTo(50, 9);
  for (let minute = 0; minute < 12 * 60; minute++) losses.received(60, nowMs + minute * MINUTE_MS);
  const later = losses.at(nowMs + 12 * 60 * MINUTE_MS);
  expect(later.lossRate).toBeLessThan(proven.lossRate / 5);
  expect(later.provenInLastHour).toBe(0);
});

test('a group of losses is found in its minute', () => {
  const { losses, nowMs } = history(60);
  // Ten products were last certain before the 30th minute, and found wrong just after it.
  for (let i = 0; i < 10; i++) {
    losses.proved(T0 + 29 * MINUTE_MS + i * 1_000, T0 + 31 * MINUTE_MS - 1);
  }
  const judged = losses.at(nowMs);
  const before = lostSince(judged, T0 + 28 * MINUTE_MS);
  const after = lostSince(judged, T0 + 32 * MINUTE_MS);
  expect(before - after).toBeGreaterThan(5);
  expect(after).toBeLessThan(1);
});

test('a loss that may have been at any time is spread over it', () => {
  const { losses, nowMs } = history(60);
  losses.proved(T0 - 10 * MINUTE_MS, nowMs);
  const judged = losses.at(nowMs);
  const half = lostSince(judged, T0 + 30 * MINUTE_MS) / lostSince(judged, T0);
  expect(half).toBeGreaterThan(0.35);
  expect(half).toBeLessThan(0.75);
});

test('where fewer changes arrive than usual, more are expected lost', () => {
  const { losses, nowMs } = history(60);
  const silentMs = nowMs + 5 * MINUTE_MS;
  expect(lostSince(losses.at(silentMs), nowMs)).toBeGreaterThan(0);
});

test('before what is kept, minutes were like the others', () => {
  const { losses, nowMs } = history(60);
  const judged = losses.at(nowMs);
  expect(lostSince(judged, T0 - 60 * MINUTE_MS) / lostSince(judged, T0)).toBeCloseTo(2, 1);
});

test('no more than a day is kept, however long it was silent', () => {
  const { losses, nowMs } = history(5);
  const muchLaterMs = nowMs + 100 * 24 * 60 * MINUTE_MS;
  losses.proved(T0, muchLaterMs);
  expect(losses.minutes.received).toHaveLength(24 * 60);
  expect(losses.minutes.proven).toHaveLength(24 * 60);
  expect(losses.at(muchLaterMs).firstMs).toBe(losses.minutes.first * MINUTE_MS);
  losses.received(5, nowMs);
  expect(losses.at(muchLaterMs).changesPerMs).toBeLessThan(1 / MINUTE_MS);
  losses.received(5_000, muchLaterMs);
  expect(losses.at(muchLaterMs + 20 * MINUTE_MS).changesPerMs).toBeGreaterThan(1 / MINUTE_MS);
});

test('what is kept goes on where it ended', () => {
  const { losses, nowMs } = history(60);
  losses.proved(nowMs - 5 * MINUTE_MS, nowMs);
  const copy = new LossHistory(losses.minutes);
  copy.received(7, nowMs);
  losses.received(7, nowMs);
  expect(copy.at(nowMs + 1)).toEqual(losses.at(nowMs + 1));
});
