import { expect, test } from 'vitest';
import { EARLIEST_MS, LATEST_MS } from '../../../src/core/limits.ts';
import type { ChangeBranch, ChangeOutcome } from '../../../src/core/merge/change-outcome.ts';
import { mergeChange } from '../../../src/core/apply/merge-change.ts';
import type { StockLevel } from '../../../src/core/model.ts';
import { T0, stockLevel, change } from '../builders.ts';

interface Row {
  readonly when: string;
  readonly level: StockLevel | undefined;
  readonly old: number;
  readonly new: number;
  /** Relative to T0, which is the time of the stock level's last change, 4→5. */
  readonly at: number;
  readonly futureDated?: boolean;
  readonly ahead?: boolean;
  readonly variantGone?: boolean;
  /** Value, event time (relative to T0), `old` and count of the earliest change known at it. */
  readonly then: { qty: number; at: number; eventOld?: number; count?: number };
  readonly applied?: boolean;
  readonly requestRead?: boolean;
  readonly gap?: ChangeOutcome['gap'];
}

const readAround = (loMs: number, hiMs: number, over: Partial<StockLevel> = {}): StockLevel =>
  stockLevel({ readLoMs: T0 + loMs, readHiMs: T0 + hiMs, ...over });

// Exhaustive by its type: a new branch does not compile until it has a row.
const ROWS: Record<ChangeBranch, readonly Row[]> = {
  '1 new level': [
    {
      when: 'nothing is known',
      level: undefined,
      ...{ old: 3, new: 2, at: 9 },
      then: { qty: 2, at: 9, eventOld: 3, count: 1 },
      applied: true,
      requestRead: true,
    },
  ],
  '2 stale': [
    { when: 'it is older', level: stockLevel(), old: 3, new: 4, at: -1, then: { qty: 5, at: 0 } },
    {
      when: 'it starts from the present value and ends there',
      level: stockLevel(),
      ...{ old: 5, new: 5, at: -1 },
      then: { qty: 5, at: 0 },
    },
  ],
  '2 stale, yet follows': [
    {
      when: 'it starts from the present value',
      level: stockLevel(),
      ...{ old: 5, new: 6, at: -1 },
      then: { qty: 5, at: 0 },
      requestRead: true,
    },
    {
      when: 'a time ahead of its arrival, as the service’s clock is now known, is no reason to apply it',
      level: stockLevel(),
      ...{ old: 5, new: 6, at: -1, futureDated: true },
      then: { qty: 5, at: 0 },
      requestRead: true,
    },
    {
      when: 'even if it seems to lie before the read: the service may have set its clock back',
      level: readAround(0, 9),
      ...{ old: 5, new: 6, at: -1 },
      then: { qty: 5, at: 0 },
      requestRead: true,
    },
  ],
  '3 duplicate': [
    { when: 'the same again', level: stockLevel(), old: 4, new: 5, at: 0, then: { qty: 5, at: 0, count: 1 } },
  ],
  '3 seen by the read': [
    {
      when: 'the read agrees with it',
      level: readAround(1, 9),
      ...{ old: 4, new: 5, at: 0 },
      then: { qty: 5, at: 0, count: 1 },
    },
    {
      when: 'the read shows another figure',
      level: readAround(1, 9),
      ...{ old: 5, new: 6, at: 0 },
      then: { qty: 5, at: 0, count: 1 },
      requestRead: true,
    },
  ],
  '3 follows': [
    {
      when: 'after the read window',
      level: readAround(-9, -1),
      ...{ old: 5, new: 7, at: 0 },
      then: { qty: 7, at: 0, eventOld: 4, count: 2 },
      applied: true,
    },
    {
      when: 'after the read window, by a clock that is ahead',
      level: readAround(-9, -1),
      ...{ old: 5, new: 7, at: 0, ahead: true },
      then: { qty: 7, at: 0, eventOld: 4, count: 2 },
      applied: true,
      requestRead: true,
    },
    {
      when: 'exactly at the upper end of the read window',
      level: readAround(-9, 0),
      ...{ old: 5, new: 7, at: 0 },
      then: { qty: 7, at: 0, eventOld: 4, count: 2 },
      applied: true,
      requestRead: true,
    },
    {
      when: 'exactly at the lower end of the read window',
      level: readAround(0, 0),
      ...{ old: 5, new: 7, at: 0 },
      then: { qty: 7, at: 0, eventOld: 4, count: 2 },
      applied: true,
      requestRead: true,
    },
    {
      when: 'two are known there already',
      level: stockLevel({ eventCount: 2 }),
      ...{ old: 5, new: 7, at: 0 },
      then: { qty: 7, at: 0, eventOld: 4, count: 3 },
      applied: true,
      requestRead: true,
    },
  ],
  '3 precedes': [
    {
      when: 'it ends where the known one starts',
      level: stockLevel(),
      ...{ old: 2, new: 4, at: 0 },
      then: { qty: 5, at: 0, eventOld: 2, count: 2 },
    },
  ],
  '3 order unknown': [
    {
      when: 'neither end fits',
      level: stockLevel(),
      ...{ old: 8, new: 9, at: 0 },
      then: { qty: 5, at: 0, eventOld: 4, count: 2 },
      requestRead: true,
    },
    {
      when: 'both ends fit: A→B beside B→A',
      level: stockLevel(),
      ...{ old: 5, new: 4, at: 0 },
      then: { qty: 5, at: 0, eventOld: 4, count: 2 },
      requestRead: true,
    },
    {
      when: 'the same again after another one',
      level: stockLevel({ eventCount: 2 }),
      ...{ old: 4, new: 5, at: 0 },
      then: { qty: 5, at: 0, eventOld: 4, count: 3 },
      requestRead: true,
    },
    {
      when: 'the same again after a read took it back',
      level: readAround(-1, 9, { qty: 4 }),
      ...{ old: 4, new: 5, at: 0 },
      then: { qty: 4, at: 0, eventOld: 4, count: 2 },
      requestRead: true,
    },
  ],
  '4a seen by the read': [
    {
      when: 'the read agrees with it',
      level: readAround(8, 9),
      ...{ old: 1, new: 5, at: 7 },
      then: { qty: 5, at: 7, eventOld: 1, count: 1 },
    },
    {
      when: 'the read shows another figure',
      level: readAround(8, 9),
      ...{ old: 5, new: 6, at: 7 },
      then: { qty: 5, at: 7, eventOld: 5, count: 1 },
      requestRead: true,
    },
  ],
  '4b confirmed': [
    {
      when: 'at the lower end of the window',
      level: readAround(8, 9),
      ...{ old: 1, new: 5, at: 8 },
      then: { qty: 5, at: 8, eventOld: 1, count: 1 },
    },
    {
      when: 'at the upper end of the window',
      level: readAround(8, 9),
      ...{ old: 1, new: 5, at: 9 },
      then: { qty: 5, at: 9 },
    },
  ],
  '4b in doubt': [
    {
      when: 'at the lower end of the window',
      level: readAround(8, 9),
      ...{ old: 1, new: 6, at: 8 },
      then: { qty: 6, at: 8, eventOld: 1, count: 1 },
      applied: true,
      requestRead: true,
      gap: { fromQty: 5, toQty: 1 },
    },
    {
      when: 'after the window, by a clock that is ahead',
      level: readAround(8, 9),
      ...{ old: 5, new: 6, at: 99_999, ahead: true },
      then: { qty: 6, at: 99_999 },
      applied: true,
      requestRead: true,
    },
    {
      when: 'at the upper end, though the chain fits',
      level: readAround(8, 9),
      ...{ old: 5, new: 6, at: 9 },
      then: { qty: 6, at: 9 },
      applied: true,
      requestRead: true,
    },
    {
      when: 'the window is not bounded',
      level: stockLevel({ readLoMs: EARLIEST_MS, readHiMs: LATEST_MS }),
      ...{ old: 5, new: 6, at: 9 },
      then: { qty: 6, at: 9 },
      applied: true,
      requestRead: true,
    },
  ],
  '4c follows': [
    {
      when: 'never read',
      level: stockLevel(),
      ...{ old: 5, new: 6, at: 1 },
      then: { qty: 6, at: 1, eventOld: 5, count: 1 },
      applied: true,
    },
    {
      when: 'after the read window',
      level: readAround(8, 9),
      ...{ old: 5, new: 6, at: 10 },
      then: { qty: 6, at: 10 },
      applied: true,
    },
  ],
  '4c gap': [
    {
      when: 'it starts elsewhere',
      level: readAround(8, 9),
      ...{ old: 7, new: 6, at: 10 },
      then: { qty: 6, at: 10, eventOld: 7 },
      applied: true,
      gap: { fromQty: 5, toQty: 7 },
    },
    {
      when: 'it ends at the value held, from elsewhere',
      level: stockLevel(),
      ...{ old: 7, new: 5, at: 10 },
      then: { qty: 5, at: 10 },
      applied: true,
      gap: { fromQty: 5, toQty: 7 },
    },
  ],
  'gone, seen by the read': [
    {
      when: 'older than the read that showed it gone',
      level: readAround(8, 9, { goneAtMs: T0 }),
      ...{ old: 5, new: 6, at: 7 },
      then: { qty: 5, at: 7, eventOld: 5, count: 1 },
    },
  ],
  'gone, in doubt': [
    {
      when: 'at the lower end of the window',
      level: readAround(8, 9, { goneAtMs: T0 }),
      ...{ old: 5, new: 6, at: 8 },
      then: { qty: 5, at: 8 },
      requestRead: true,
    },
    {
      when: 'later than the read',
      level: readAround(8, 9, { goneAtMs: T0 }),
      ...{ old: 5, new: 6, at: 99 },
      then: { qty: 5, at: 99 },
      requestRead: true,
    },
    {
      when: 'a future-dated change does not advance a tombstone either',
      level: readAround(8, 9, { goneAtMs: T0 }),
      ...{ old: 5, new: 6, at: 99, futureDated: true },
      then: { qty: 5, at: 0 },
      requestRead: true,
    },
    {
      when: 'shown since, but not certainly after the reads that removed it',
      level: readAround(8, 9, { goneAtMs: T0, verifiedAtMs: T0 + 1 }),
      ...{ old: 5, new: 6, at: 9 },
      then: { qty: 5, at: 9 },
      requestRead: true,
    },
    {
      when: 'shown by no read since its removal',
      level: readAround(8, 9, { goneAtMs: T0, verifiedAtMs: T0 }),
      ...{ old: 5, new: 6, at: 99 },
      then: { qty: 5, at: 99 },
      requestRead: true,
    },
    {
      when: 'a stock level not known before, of a variant that is gone',
      level: undefined,
      ...{ old: 5, new: 6, at: 8, variantGone: true },
      then: { qty: 6, at: 8 },
      requestRead: true,
    },
  ],
  'gone, shown again': [
    {
      when: 'a read shows it since, and came too soon after a change to set it',
      level: readAround(8, 9, { goneAtMs: T0, verifiedAtMs: T0 + 1 }),
      ...{ old: 5, new: 6, at: 99 },
      then: { qty: 6, at: 99 },
      applied: true,
      requestRead: true,
    },
  ],
  'future-dated': [
    {
      when: 'it names the far future',
      level: stockLevel(),
      ...{ old: 5, new: 6, at: 999_999, futureDated: true },
      then: { qty: 6, at: 0, eventOld: 4, count: 1 },
      applied: true,
      requestRead: true,
    },
    {
      when: 'nothing is known',
      level: undefined,
      ...{ old: 5, new: 6, at: 999_999, futureDated: true },
      then: { qty: 6, at: EARLIEST_MS - T0, count: 0 },
      applied: true,
      requestRead: true,
    },
  ],
};

const ARRIVAL = { seq: 42, atMs: T0 + 1_234 };
const cases = Object.entries(ROWS).flatMap(([branch, rows]) => rows.map((row) => ({ branch, row })));

test.each(cases)('$branch: $row.when', ({ branch, row }) => {
  const outcome = mergeChange(row.level, change({ old: row.old, new: row.new, updateTimeMs: T0 + row.at }), {
    ...ARRIVAL,
    futureDated: row.futureDated ?? false,
    ahead: row.ahead ?? false,
    seenBeforeMs: row.level?.readLoMs ?? EARLIEST_MS,
    variantGoneAtMs: row.variantGone === true ? T0 : null,
  });
  expect(outcome).toMatchObject({
    branch,
    applied: row.applied ?? false,
    requestRead: row.requestRead ?? false,
    gap: row.gap ?? null,
    level: {
      qty: row.then.qty,
      eventTimeMs: T0 + row.then.at,
      // Every delivery touches the stock level: no earlier read may overwrite it.
      eventSeq: ARRIVAL.seq,
      eventAtMs: ARRIVAL.atMs,
      ...(row.then.eventOld === undefined ? {} : { eventOld: row.then.eventOld }),
      ...(row.then.count === undefined ? {} : { eventCount: row.then.count }),
    },
  });
  const wasGone = row.level === undefined ? row.variantGone === true : row.level.goneAtMs !== null;
  const gone = wasGone && !outcome.applied;
  expect(outcome.level.goneAtMs !== null).toBe(gone);
});

test('an applied value is as old as its change, a future-dated one as old as its arrival', () => {
  const arrival = {
    ...ARRIVAL,
    futureDated: false,
    ahead: false,
    seenBeforeMs: EARLIEST_MS,
    variantGoneAtMs: null,
  };
  const later = change({ old: 5, new: 6, updateTimeMs: T0 + 5 });
  expect(mergeChange(stockLevel({ source: 'read' }), later, arrival).level).toMatchObject({
    source: 'webhook',
    asOfMs: T0 + 5,
  });
  expect(mergeChange(stockLevel(), later, { ...arrival, futureDated: true }).level.asOfMs).toBe(ARRIVAL.atMs);
});
