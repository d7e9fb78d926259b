import { expect, test } from 'vitest';
import { EARLIEST_MS, LATEST_MS } from '../../../src/core/limits.ts';
import type { ChangeBranch } from '../../../src/core/merge/change-outcome.ts';
import { mergeChange } from '../../../src/core/merge/merge-change.ts';
import type { StockLevel } from '../../../src/core/model.ts';
import { T0, stockLevel, change } from '../builders.ts';

type Row = readonly [
  when: string,
  level: StockLevel | undefined,
  /** Times are relative to T0, the time of the stock level's last change, 4→5. */
  change: readonly [old: number, to: number, at: number, given?: 'future-dated' | 'ahead' | 'variant gone'],
  /** Value, event time, and `old` and count of the earliest change known at it. */
  then: readonly [qty: number, at: number, eventOld?: number, count?: number],
  does?: '' | 'apply' | 'read' | 'apply, read',
  gap?: readonly [fromQty: number, toQty: number],
];

const readAround = (loMs: number, hiMs: number, over: Partial<StockLevel> = {}): StockLevel =>
  stockLevel({ readLoMs: T0 + loMs, readHiMs: T0 + hiMs, ...over });

// Exhaustive by its type: a new branch does not compile until it has a row.
const ROWS: Record<ChangeBranch, readonly Row[]> = {
  '1 new level': [['nothing is known', undefined, [3, 2, 9], [2, 9, 3, 1], 'apply, read']],
  '2 stale': [
    ['it is older', stockLevel(), [3, 4, -1], [5, 0]],
    ['it starts from the present value and ends there', stockLevel(), [5, 5, -1], [5, 0]],
  ],
  '2 stale, yet follows': [
    ['it starts from the present value', stockLevel(), [5, 6, -1], [5, 0], 'read'],
    ['it is future-dated', stockLevel(), [5, 6, -1, 'future-dated'], [5, 0], 'read'],
    ['as after a clock set back', readAround(0, 9), [5, 6, -1], [5, 0], 'read'],
  ],
  '3 duplicate': [
    ['the same again', stockLevel(), [4, 5, 0], [5, 0, 4, 1]],
    ['the same again, future-dated', stockLevel(), [4, 5, 0, 'future-dated'], [5, 0, 4, 1]],
  ],
  '3 seen by the read': [
    ['the read agrees with it', readAround(1, 9), [4, 5, 0], [5, 0, 4, 1]],
    ['the read shows another value', readAround(1, 9), [5, 6, 0], [5, 0, 4, 1], 'read'],
  ],
  '3 follows': [
    ['after the read window', readAround(-9, -1), [5, 7, 0], [7, 0, 4, 2], 'apply'],
    [
      'after the window, by a clock ahead',
      readAround(-9, -1),
      [5, 7, 0, 'ahead'],
      [7, 0, 4, 2],
      'apply, read',
    ],
    ['at the upper end of the window', readAround(-9, 0), [5, 7, 0], [7, 0, 4, 2], 'apply, read'],
    ['at the lower end of the window', readAround(0, 0), [5, 7, 0], [7, 0, 4, 2], 'apply, read'],
    ['two are known there already', stockLevel({ eventCount: 2 }), [5, 7, 0], [7, 0, 4, 3], 'apply, read'],
    [
      'two are known there, and it starts like the first',
      stockLevel({ eventCount: 2, qty: 4 }),
      [4, 6, 0],
      [6, 0, 4, 3],
      'apply, read',
    ],
  ],
  '3 precedes': [['it ends where the known one starts', stockLevel(), [2, 4, 0], [5, 0, 2, 2]]],
  '3 order unknown': [
    ['neither end fits', stockLevel(), [8, 9, 0], [5, 0, 4, 2], 'read'],
    ['it ends like the known one but starts elsewhere', stockLevel(), [3, 5, 0], [5, 0, 4, 2], 'read'],
    ['both ends fit: A→B and B→A', stockLevel(), [5, 4, 0], [5, 0, 4, 2], 'read'],
    ['the same again after another one', stockLevel({ eventCount: 2 }), [4, 5, 0], [5, 0, 4, 3], 'read'],
    ['again after a read took it back', readAround(-1, 9, { qty: 4 }), [4, 5, 0], [4, 0, 4, 2], 'read'],
  ],
  '4a seen by the read': [
    ['the read agrees with it', readAround(8, 9), [1, 5, 7], [5, 7, 1, 1]],
    ['the read shows another value', readAround(8, 9), [5, 6, 7], [5, 7, 5, 1], 'read'],
  ],
  '4b confirmed': [
    ['at the lower end of the window', readAround(8, 9), [1, 5, 8], [5, 8, 1, 1]],
    ['at the upper end of the window', readAround(8, 9), [1, 5, 9], [5, 9]],
  ],
  '4b uncertain': [
    ['at the lower end of the window', readAround(8, 9), [1, 6, 8], [6, 8, 1, 1], 'apply, read', [5, 1]],
    [
      'after the window, by a clock ahead',
      readAround(8, 9),
      [5, 6, 99_999, 'ahead'],
      [6, 99_999],
      'apply, read',
    ],
    ['at the upper end, chain fits', readAround(8, 9), [5, 6, 9], [6, 9], 'apply, read'],
    [
      'the window is not bounded',
      stockLevel({ readLoMs: EARLIEST_MS, readHiMs: LATEST_MS }),
      [5, 6, 9],
      [6, 9],
      'apply, read',
    ],
  ],
  '4c follows': [
    ['never read', stockLevel(), [5, 6, 1], [6, 1, 5, 1], 'apply'],
    ['after the read window', readAround(8, 9), [5, 6, 10], [6, 10], 'apply'],
  ],
  '4c gap': [
    ['it starts elsewhere', readAround(8, 9), [7, 6, 10], [6, 10, 7], 'apply', [5, 7]],
    ['it ends at the value held', stockLevel(), [7, 5, 10], [5, 10], 'apply', [5, 7]],
  ],
  'gone, seen by the read': [
    ['older than its removal', readAround(8, 9, { goneAtMs: T0 }), [5, 6, 7], [5, 7, 5, 1]],
  ],
  'gone, uncertain': [
    ['at the lower end of the window', readAround(8, 9, { goneAtMs: T0 }), [5, 6, 8], [5, 8], 'read'],
    ['later than the read', readAround(8, 9, { goneAtMs: T0 }), [5, 6, 99], [5, 99], 'read'],
    ['future-dated', readAround(8, 9, { goneAtMs: T0 }), [5, 6, 99, 'future-dated'], [5, 0], 'read'],
    [
      'shown since, order unknown',
      readAround(8, 9, { goneAtMs: T0, verifiedAtMs: T0 + 1 }),
      [5, 6, 9],
      [5, 9],
      'read',
    ],
    [
      'not shown since its removal',
      readAround(8, 9, { goneAtMs: T0, verifiedAtMs: T0 }),
      [5, 6, 99],
      [5, 99],
      'read',
    ],
    ['unknown level of a removed variant', undefined, [5, 6, 8, 'variant gone'], [6, 8], 'read'],
  ],
  'gone, shown again': [
    [
      'shown since by a read',
      readAround(8, 9, { goneAtMs: T0, verifiedAtMs: T0 + 1 }),
      [5, 6, 99],
      [6, 99],
      'apply, read',
    ],
  ],
  'future-dated': [
    ['it names the far future', stockLevel(), [5, 6, 999_999, 'future-dated'], [6, 0, 4, 1], 'apply, read'],
    [
      'nothing is known',
      undefined,
      [5, 6, 999_999, 'future-dated'],
      [6, EARLIEST_MS - T0, 0, 0],
      'apply, read',
    ],
  ],
};

const ARRIVAL = { atMs: T0 + 1_234 };
const cases = Object.entries(ROWS).flatMap(([branch, rows]) => rows.map((row) => ({ branch, row })));

test.each(cases)('$branch: $row.0', ({ branch, row }) => {
  const [, level, [old, to, at, given], [qty, eventAt, eventOld, count], does = '', gap] = row;
  const isGone = given === 'variant gone';
  const outcome = mergeChange(level, change({ old, new: to, updateTimeMs: T0 + at }), {
    ...ARRIVAL,
    futureDated: given === 'future-dated',
    ahead: given === 'ahead',
    seenBeforeMs: level?.readLoMs ?? EARLIEST_MS,
    variantGoneAtMs: isGone ? T0 : null,
    isNeverListed: false,
  });
  expect(outcome).toMatchObject({
    branch,
    applied: does.includes('apply'),
    requestRead: does.includes('read'),
    gap: gap === undefined ? null : { fromQty: gap[0], toQty: gap[1] },
    level: {
      qty,
      eventTimeMs: T0 + eventAt,
      // Every delivery touches the stock level: no earlier read may overwrite it.
      eventAtMs: ARRIVAL.atMs,
      ...(eventOld === undefined ? {} : { eventOld }),
      ...(count === undefined ? {} : { eventCount: count }),
    },
  });
  const wasGone = level === undefined ? isGone : level.goneAtMs !== null;
  expect(outcome.level.goneAtMs !== null).toBe(wasGone && !outcome.applied);
});

test('dates an applied value by its change, a future-dated one by its arrival', () => {
  const arrival = {
    ...ARRIVAL,
    futureDated: false,
    ahead: false,
    seenBeforeMs: EARLIEST_MS,
    variantGoneAtMs: null,
    isNeverListed: false,
  };
  const later = change({ old: 5, new: 6, updateTimeMs: T0 + 5 });
  expect(mergeChange(stockLevel({ source: 'read' }), later, arrival).level).toMatchObject({
    source: 'webhook',
    asOfMs: T0 + 5,
  });
  expect(mergeChange(stockLevel(), later, { ...arrival, futureDated: true }).level.asOfMs).toBe(ARRIVAL.atMs);
});
