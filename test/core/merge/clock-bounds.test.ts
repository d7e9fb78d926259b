import { describe, expect, test } from 'vitest';
import {
  isStampedAhead,
  isFutureDated,
  lowWatermarkMs,
  observeArrival,
  offsetFloorMs,
  readWindow,
  stampedUntilMs,
  weighDate,
  type OffsetFloor,
} from '../../../src/core/merge/clock-bounds.ts';
import {
  DATE_CONTRADICTIONS,
  EARLIEST_MS,
  LATEST_MS,
  LONG_AFTER_READ_MS,
  NODE_SKEW_MS,
  OFFSET_WINDOW_MS,
  PROMPT_MS,
  REPLICA_LAG_MS,
} from '../../../src/core/limits.ts';
import { change, T0 } from '../builders.ts';

const UNKNOWN: OffsetFloor = { offsetWindowStartMs: 0, offsetFloorMs: null, offsetFloorPreviousMs: null };

describe('the lower bound of the offset', () => {
  test.each<[number | null, number | null, number | null]>([
    [null, null, null],
    [-5, null, -5],
    [null, -5, -5],
    [-7, -5, -5],
    [-5, -7, -5],
  ])('of this window %s and the one before %s is %s', (offsetFloor, previous, floor) => {
    expect(
      offsetFloorMs({ offsetWindowStartMs: 0, offsetFloorMs: offsetFloor, offsetFloorPreviousMs: previous }),
    ).toBe(floor);
  });

  test('rises with a prompter arrival and stays with any other', () => {
    const first = observeArrival(UNKNOWN, T0 - 300, T0);
    expect(first).toEqual({ offsetWindowStartMs: T0, offsetFloorMs: -300, offsetFloorPreviousMs: null });
    const prompter = observeArrival(first, T0 + 950, T0 + 1_000);
    expect(prompter.offsetFloorMs).toBe(-50);
    expect(observeArrival(prompter, T0 + 1_000, T0 + 2_000)).toBe(prompter);
    expect(observeArrival(prompter, T0 + 1_950, T0 + 2_000)).toBe(prompter);
  });

  test('is learnt again within its window after it was forgotten', () => {
    const forgotten = { ...UNKNOWN, offsetWindowStartMs: T0 };
    expect(observeArrival(forgotten, T0 + 700, T0 + 1_000).offsetFloorMs).toBe(-300);
  });

  test('outlives its window by one more, then is forgotten', () => {
    const first = observeArrival(UNKNOWN, T0, T0);
    const sameWindow = observeArrival(first, T0, T0 + OFFSET_WINDOW_MS - 1);
    expect(sameWindow).toBe(first);
    const next = observeArrival(first, T0, T0 + OFFSET_WINDOW_MS);
    expect(next).toEqual({
      offsetWindowStartMs: T0 + OFFSET_WINDOW_MS,
      offsetFloorMs: -OFFSET_WINDOW_MS,
      offsetFloorPreviousMs: 0,
    });
    expect(observeArrival(first, T0, T0 + 2 * OFFSET_WINDOW_MS).offsetFloorPreviousMs).toBeNull();
  });

  test('several changes of one delivery open one window', () => {
    const before = observeArrival(UNKNOWN, T0 - 50, T0);
    const arrivedAtMs = T0 + OFFSET_WINDOW_MS;
    const first = observeArrival(before, arrivedAtMs - 300, arrivedAtMs);
    expect(observeArrival(first, arrivedAtMs - 400, arrivedAtMs).offsetFloorPreviousMs).toBe(-50);
  });

  test('a clock that was set back opens a new window', () => {
    const first = observeArrival(UNKNOWN, T0, T0);
    expect(observeArrival(first, T0 - 9, T0 - 1)).toEqual({
      offsetWindowStartMs: T0 - 1,
      offsetFloorMs: -8,
      offsetFloorPreviousMs: 0,
    });
  });
});

const LIMIT = T0 + 300_000;
test.each<[string, number | null, number | null, number, boolean]>([
  ['nothing known, 5 minutes ahead', null, null, LIMIT, false],
  ['nothing known, 1 ms more', null, null, LIMIT + 1, true],
  ['the service is known to be behind by at most 1 s', null, -1_000, LIMIT, false],
  ['the service is known to be ahead by at least 1 s', null, 1_000, LIMIT + 1_000, false],
  ['ahead by at least 1 s, 1 ms more', null, 1_000, LIMIT + 1_001, true],
  ['the answers say it is behind by 1 s', -1_000, 1_000, LIMIT - 999, true],
  ['the answers say it is ahead by an hour', 3_600_000, null, LIMIT + 3_600_000, false],
])('a future-dated change: %s', (_name, ...[offsetCeilingMs, floor, updateTimeMs, futureDated]) => {
  const known = { ...UNKNOWN, offsetFloorMs: floor, offsetCeilingMs };
  expect(isFutureDated(updateTimeMs, T0, known)).toBe(futureDated);
});

test.each<[string, number | null, number, boolean]>([
  ['no answer had a Date', null, T0 + 60_000, false],
  ['at most the skew between nodes', -300, T0 - 300 + 1_000, false],
  ['1 ms more', -300, T0 - 300 + 1_001, true],
])('a change stamped ahead of its arrival: %s', (_name, offsetCeilingMs, updateTimeMs, ahead) => {
  expect(isStampedAhead(updateTimeMs, T0, { offsetCeilingMs })).toBe(ahead);
});

describe('weighs a change that predates a read of 5 by its Date', () => {
  const bounds = { ...UNKNOWN, offsetFloorMs: -50, dateContradictions: 1 };
  const level = { qty: 5, readAtMs: T0 };
  const PROMPT = -50 - 1_000;
  const LATE = PROMPT - 1;
  const SOON = LONG_AFTER_READ_MS - 1;

  test.each<[verdict: string, old: number, to: number, stampMs: number, afterReadMs: number, count: number]>([
    ['prompt and from the value read: came after the read', 5, 4, PROMPT, SOON, 2],
    ['prompt but from another value: no proof', 6, 4, PROMPT, SOON, 1],
    ['not prompt: no proof', 5, 4, LATE, SOON, 1],
    ['to the value read: the read saw it', 6, 5, LATE, SOON, 0],
    ['to the value read, promptly: the read saw it', 6, 5, PROMPT, SOON, 0],
    ['to the value read, late, long after the read: the read saw it', 6, 5, LATE, LONG_AFTER_READ_MS, 0],
    ['to the value read, promptly, long after the read: no proof', 6, 5, PROMPT, LONG_AFTER_READ_MS, 1],
  ])('%s', (...[, old, to, stampMs, afterReadMs, dateContradictions]) => {
    const arrivedAtMs = T0 + afterReadMs;
    const weighed = change({ old, new: to, updateTimeMs: arrivedAtMs + stampMs });
    expect(weighDate(bounds, level, weighed, arrivedAtMs)).toEqual({ dateContradictions });
  });

  test('no change is prompt while nothing is known about arrivals', () => {
    const prompt = change({ old: 5, new: 4, updateTimeMs: T0 });
    expect(weighDate({ ...bounds, offsetFloorMs: null }, level, prompt, T0)).toEqual({
      dateContradictions: 1,
    });
  });
});

describe('the window of a read', () => {
  const read = { sentAtMs: T0 + 100, receivedAtMs: T0 + 400, serverDateMs: null };

  test('arrivals alone bound it below: by the lag of a replica and the skew between nodes', () => {
    expect(readWindow(read, -50)).toMatchObject({ loMs: T0 + 100 - 50 - 1_000 - 2_000, hiMs: LATEST_MS });
  });

  test('a Date that was dropped bounds nothing: the arrivals do, on both sides', () => {
    const ahead = { ...read, serverDateMs: T0 + 600_000 };
    expect(readWindow(ahead, -50, DATE_CONTRADICTIONS)).toEqual({
      loMs: T0 + 100 - 50 - 1_000 - 2_000,
      hiMs: T0 + 400 - 50 + PROMPT_MS + 1_000,
      ceilingMs: PROMPT_MS - 50,
      dateContradictions: DATE_CONTRADICTIONS,
      contradicts: false,
    });
    expect(readWindow(ahead, -50, DATE_CONTRADICTIONS - 1)).toMatchObject({ ceilingMs: 600_900 });
  });

  test('a Date that was dropped bounds nothing either if the answer took no time', () => {
    const atOnce = { ...read, receivedAtMs: read.sentAtMs, serverDateMs: T0 + 600_000 };
    expect(readWindow(atOnce, -50, DATE_CONTRADICTIONS).ceilingMs).toBe(PROMPT_MS - 50);
  });

  test('nothing bounds it if neither a Date nor an arrival is known', () => {
    expect(readWindow(read, null)).toMatchObject({ loMs: EARLIEST_MS, hiMs: LATEST_MS, contradicts: false });
  });

  test.each([
    ['late Date', T0 + 1_000],
    ['early Date', T0],
  ])('a %s and the arrivals bound it below at least as well as each alone', (_, serverDateMs) => {
    const dated = { ...read, serverDateMs };
    const { loMs } = readWindow(dated, -50);
    expect(loMs).toBe(Math.max(readWindow(dated, null).loMs, readWindow(read, -50).loMs));
  });

  test('it contains the earliest instant that a replica may show, by the clock of a node behind the dated one', () => {
    const dated = { ...read, serverDateMs: T0 };
    // The answer was dated when it was received, 300 ms after it was sent.
    const shownAtMs = dated.serverDateMs - 300 - REPLICA_LAG_MS;
    expect(readWindow(dated, null).loMs).toBeLessThanOrEqual(shownAtMs - NODE_SKEW_MS);
  });

  // The floor of -50 allows answers 2 s ahead of it, and the clock of their node 1 s more.
  const AGREES_UP_TO = read.receivedAtMs - 50 + PROMPT_MS + 1_000;
  test.each<[string, number | null, number | null, number]>([
    ['agrees with the arrivals', AGREES_UP_TO, -50, 0],
    ['is still 1 ms too far ahead of them', AGREES_UP_TO + 1, -50, DATE_CONTRADICTIONS],
    ['is omitted', null, -50, DATE_CONTRADICTIONS],
    ['cannot be compared with any arrival', T0, null, DATE_CONTRADICTIONS],
  ])('a Date that was dropped and %s', (_name, serverDateMs, floorMs, dateContradictions) => {
    const window = readWindow({ ...read, serverDateMs }, floorMs, DATE_CONTRADICTIONS);
    expect(window.dateContradictions).toBe(dateContradictions);
  });

  test.each<[what: string, serverDateMs: number | null, floorMs: number | null]>([
    ['bounds up to the skew between nodes apart', T0, 1_900],
    ['the Date of a clock that is behind, alone,', T0 - 600_000, null],
    ['the arrivals from a clock that is ahead, alone,', null, 600_000],
  ])('%s do not contradict', (_, serverDateMs, floorMs) => {
    expect(readWindow({ ...read, serverDateMs }, floorMs).contradicts).toBe(false);
  });

  const SET_BACK = { ...read, receivedAtMs: read.sentAtMs - 1 };
  test.each<[string, Parameters<typeof readWindow>[0], number | null, number?]>([
    ['bounds further apart', { ...read, serverDateMs: T0 }, 1_901],
    ['an own clock set back under way', SET_BACK, null],
    ['an own clock set back while the Date was dropped', SET_BACK, -50, DATE_CONTRADICTIONS],
  ])('%s contradict: not bounded', (_name, contradictory, floor, contradictions) => {
    expect(readWindow(contradictory, floor, contradictions)).toMatchObject({
      loMs: EARLIEST_MS,
      hiMs: LATEST_MS,
      contradicts: true,
    });
  });
});

describe('the last stamp of the clock before the store’s was set', () => {
  const read = { sentAtMs: T0 + 100, receivedAtMs: T0 + 400 };

  test.each<[bound: string, offsetCeilingMs: number | null, offsetMs: number]>([
    ['the promptest arrival', null, 5_000 + PROMPT_MS],
    ['a lower one of the answers', 5_000, 5_000 + PROMPT_MS],
    ['a higher one of the answers', 9_000, 9_000],
  ])('is not before the receipt, by a node ahead, with the offset of %s', (_, offsetCeilingMs, offsetMs) => {
    const bounds = { ...UNKNOWN, offsetFloorMs: 5_000, offsetCeilingMs, stampedUntilMs: null };
    const stampMs = read.receivedAtMs + offsetMs + NODE_SKEW_MS;
    expect(stampedUntilMs(read, bounds)).toBeGreaterThanOrEqual(stampMs);
    const setBack = { sentAtMs: read.receivedAtMs, receivedAtMs: read.sentAtMs };
    expect(stampedUntilMs(setBack, bounds)).toBeGreaterThanOrEqual(stampMs);
  });

  test.each([
    ['an earlier clock was ahead of it', 5_000],
    ['nothing is known of its arrivals', null],
  ])('stays if %s', (_, offsetFloorMs) => {
    const laterMs = T0 + 600_000;
    const bounds = { ...UNKNOWN, offsetFloorMs, offsetCeilingMs: null, stampedUntilMs: laterMs };
    expect(stampedUntilMs(read, bounds)).toBe(laterMs);
  });

  test('is unknown before any arrival', () => {
    const bounds = { ...UNKNOWN, offsetCeilingMs: 0, stampedUntilMs: null };
    expect(stampedUntilMs(read, bounds)).toBeNull();
  });
});

describe('the low watermark of a level, read at T0 by an answer dated ten minutes ahead', () => {
  const AHEAD_MS = 600_000;
  const level = { readLoMs: T0 + AHEAD_MS - 3_000, readAtMs: T0 };
  const known = { offsetWindowStartMs: T0, offsetFloorMs: -50, offsetFloorPreviousMs: null };

  test('follows the arrivals once the Date was dropped, 3 s before the read, so that it hides no prompt change', () => {
    const dropped = { ...known, dateContradictions: DATE_CONTRADICTIONS };
    expect(lowWatermarkMs(level, dropped)).toBe(T0 - 50 - 3_000);
    expect(lowWatermarkMs({ ...level, readLoMs: T0 - 9_000 }, dropped)).toBe(T0 - 9_000);
  });
});
