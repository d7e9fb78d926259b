import { expect, test } from 'vitest';
import { EARLIEST_MS } from '../../../src/core/limits.ts';
import {
  isConcurrent,
  mergeLevel,
  type LevelBranch,
  type LevelOutcome,
  type ReadContext,
} from '../../../src/core/merge/merge-read.ts';
import type { StockLevel } from '../../../src/core/model.ts';
import { judgeAbsence, type AbsenceVerdict } from '../../../src/core/apply/removal.ts';
import { T0, VARIANT, stockLevel, level, readContext } from '../builders.ts';

const READ = readContext();
const SENT = READ.sentAtMs;

test.each<[string, { eventSeq: number; eventAtMs: number }, Partial<ReadContext>, boolean]>([
  ['touched after it was sent', { eventSeq: 11, eventAtMs: T0 }, {}, true],
  ['touched by the last input known to it', { eventSeq: 10, eventAtMs: T0 }, {}, false],
  ['touched 1 ms less than 2 s before it', { eventSeq: 1, eventAtMs: SENT - 1_999 }, {}, true],
  ['touched exactly 2 s before it', { eventSeq: 1, eventAtMs: SENT - 2_000 }, {}, false],
  ['never touched', { eventSeq: 0, eventAtMs: EARLIEST_MS }, {}, false],
  ['never touched, but a later read is known', { eventSeq: 0, eventAtMs: 0 }, { superseded: true }, true],
])('a read is concurrent with a stock level: %s', (_name, touched, over, concurrent) => {
  expect(isConcurrent(touched, readContext(over))).toBe(concurrent);
});

interface Row {
  readonly when: string;
  readonly level: StockLevel | undefined;
  readonly qty: number;
  readonly read?: Partial<ReadContext>;
  readonly then: Partial<StockLevel> | null;
  readonly overwritten?: LevelOutcome['overwritten'];
  readonly requestRead?: boolean;
}

const touchedLate = { eventSeq: READ.s0 + 1 };
const window = { readLoMs: READ.loMs, readHiMs: READ.hiMs };

const ROWS: Record<LevelBranch, readonly Row[]> = {
  'new level': [
    {
      when: 'nothing is known',
      level: undefined,
      qty: 3,
      then: { qty: 3, source: 'read', asOfMs: SENT, verifiedAtMs: SENT, eventTimeMs: EARLIEST_MS, ...window },
      overwritten: { oldQty: null },
    },
  ],
  'superseded, unknown level': [
    {
      when: 'a later read did not show it',
      level: undefined,
      qty: 3,
      read: { superseded: true },
      then: null,
      requestRead: true,
    },
  ],
  'concurrent, agrees': [
    {
      when: 'it was seen missing before',
      level: stockLevel({ ...touchedLate, qty: 7, missingAtMs: SENT - 20_000 }),
      qty: 7,
      then: { qty: 7, missingAtMs: null },
    },
    {
      when: 'the webhook came first',
      level: stockLevel(touchedLate),
      qty: 5,
      then: {
        qty: 5,
        source: 'webhook',
        verifiedAtMs: SENT,
        onHand: 5,
        onHandAsOfMs: SENT,
        readLoMs: EARLIEST_MS,
        readHiMs: READ.hiMs,
      },
    },
    {
      when: 'an earlier read is known from further on',
      level: stockLevel({ ...touchedLate, readLoMs: READ.hiMs + 7, readHiMs: READ.hiMs + 9 }),
      qty: 5,
      then: { readLoMs: READ.hiMs + 7, readHiMs: READ.hiMs + 9 },
    },
    {
      when: 'a later read has been merged',
      level: stockLevel({ verifiedAtMs: SENT + 1, onHand: 9, missingAtMs: T0 }),
      qty: 5,
      read: { superseded: true },
      then: { qty: 5, verifiedAtMs: SENT + 1, onHand: 9, missingAtMs: T0 },
    },
  ],
  'concurrent, differs': [
    {
      when: 'it was seen missing before',
      level: stockLevel({ ...touchedLate, qty: 7, missingAtMs: SENT - 20_000 }),
      qty: 3,
      then: { qty: 7, missingAtMs: null },
      requestRead: true,
    },
    {
      when: 'touched after it was sent',
      level: stockLevel(touchedLate),
      qty: 6,
      then: { qty: 5, verifiedAtMs: null, readLoMs: EARLIEST_MS, onHand: null },
      requestRead: true,
    },
    {
      when: 'touched too little before it was sent',
      level: stockLevel({ eventAtMs: SENT - 1_999 }),
      qty: 6,
      then: { qty: 5 },
      requestRead: true,
    },
    {
      when: 'a tombstone that was touched',
      level: stockLevel({ ...touchedLate, goneAtMs: T0 }),
      qty: 5,
      then: { qty: 5, goneAtMs: T0 },
      requestRead: true,
    },
  ],
  'dominated, agrees': [
    {
      when: 'the webhook was right',
      level: stockLevel({ missingAtMs: T0 }),
      qty: 5,
      then: {
        qty: 5,
        source: 'webhook',
        asOfMs: T0,
        eventTimeMs: T0,
        verifiedAtMs: SENT,
        missingAtMs: null,
        ...window,
      },
    },
    {
      when: 'an earlier read is known from as far on',
      level: stockLevel({ readLoMs: READ.hiMs, readHiMs: READ.hiMs + 9 }),
      qty: 5,
      then: { readLoMs: READ.hiMs, readHiMs: READ.hiMs },
    },
    {
      when: 'an earlier read has a window that no earlier one can have: a clock was wrong',
      level: stockLevel({ readLoMs: READ.hiMs + 1, readHiMs: READ.hiMs + 9 }),
      qty: 5,
      then: window,
    },
  ],
  'dominated, drift': [
    {
      when: 'a delivery was lost',
      level: stockLevel(),
      qty: 6,
      then: { qty: 6, source: 'read', asOfMs: SENT, eventTimeMs: T0, eventOld: 4, ...window },
      overwritten: { oldQty: 5 },
    },
    {
      when: 'another read was merged before it',
      level: stockLevel({ verifiedAtMs: SENT - 1, readHiMs: READ.loMs }),
      qty: 6,
      then: { qty: 6, ...window },
      overwritten: { oldQty: 5 },
    },
    {
      when: 'its window is unbounded, and no read came before it',
      level: stockLevel(),
      qty: 6,
      read: { loMs: EARLIEST_MS },
      then: { qty: 6, readLoMs: EARLIEST_MS },
      overwritten: { oldQty: 5 },
    },
  ],
  'dominated, restored': [
    {
      when: 'with the figure it died with',
      level: stockLevel({ goneAtMs: T0, missingAtMs: T0 }),
      qty: 5,
      then: { qty: 5, source: 'read', asOfMs: SENT, goneAtMs: null, missingAtMs: null },
      overwritten: { oldQty: null },
    },
  ],
};

const cases = Object.entries(ROWS).flatMap(([branch, rows]) => rows.map((row) => ({ branch, row })));

test.each(cases)('$branch: $row.when', ({ branch, row }) => {
  const outcome = mergeLevel(row.level, VARIANT, level(row.qty), readContext(row.read));
  expect(outcome).toMatchObject({
    branch,
    overwritten: row.overwritten ?? null,
    requestRead: row.requestRead ?? false,
    ...(row.then === null ? { level: null } : { level: row.then }),
  });
});

const VERDICTS: Record<
  AbsenceVerdict['kind'],
  readonly { when: string; missing: number | null; over?: Partial<ReadContext>; verdict: AbsenceVerdict }[]
> = {
  contested: [
    { when: 'touched since', missing: null, over: { s0: 6 }, verdict: { kind: 'contested' } },
    {
      when: 'touched since, though missed for long',
      missing: -99_000,
      over: { superseded: true },
      verdict: { kind: 'contested' },
    },
  ],
  sighted: [
    {
      when: 'for the first time',
      missing: null,
      verdict: { kind: 'sighted', missingAtMs: SENT, confirmAtMs: SENT + 30_000 },
    },
    {
      when: 'again, 1 ms too soon',
      missing: -29_999,
      verdict: { kind: 'sighted', missingAtMs: SENT - 29_999, confirmAtMs: SENT + 1 },
    },
    {
      when: 'first by a clock that has been set back since',
      missing: 1,
      verdict: { kind: 'sighted', missingAtMs: SENT, confirmAtMs: SENT + 30_000 },
    },
  ],
  confirmed: [{ when: 'exactly 30 s after the first', missing: -30_000, verdict: { kind: 'confirmed' } }],
};

test.each(Object.values(VERDICTS).flat())('absence $verdict.kind: $when', ({ missing, over, verdict }) => {
  const missingAtMs = missing === null ? null : SENT + missing;
  expect(judgeAbsence(stockLevel({ missingAtMs }), readContext(over))).toEqual(verdict);
});
