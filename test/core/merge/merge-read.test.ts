import { expect, test } from 'vitest';
import { EARLIEST_MS } from '../../../src/core/limits.ts';
import { judgeLevel, type LevelBranch, type ReadContext } from '../../../src/core/merge/merge-read.ts';
import type { StockLevel } from '../../../src/core/model.ts';
import { T0, VARIANT, stockLevel, level, readContext } from '../builders.ts';

const READ = readContext();
const SENT = READ.sentAtMs;

interface Expected {
  /** Without it the level stays unknown. */
  readonly then: Partial<StockLevel> | null;
  /** Without it, nothing is overwritten. */
  readonly old?: number | null;
  readonly asks?: 'conflict' | 'order';
}
type Row = readonly [
  when: string,
  level: StockLevel | undefined,
  qty: number,
  expected: Expected,
  read?: Partial<ReadContext>,
];

const touchedLate = { eventAtMs: SENT - 1_999 };
const missed = { ...touchedLate, qty: 7, missingAtMs: SENT - 20_000 };
const window = { readLoMs: READ.loMs, readHiMs: READ.hiMs };
const later = { readLoMs: READ.hiMs + 7, readHiMs: READ.hiMs + 9 };
const isRead = { source: 'read', asOfMs: SENT } as const;
const verified = { verifiedAtMs: SENT, onHand: 5, onHandAsOfMs: SENT };
const newer = { verifiedAtMs: SENT + 1, onHand: 9, missingAtMs: T0 };
const superseded = { superseded: true };

const ROWS: Record<LevelBranch, readonly Row[]> = {
  'new level': [
    [
      'nothing is known',
      undefined,
      3,
      { then: { qty: 3, ...isRead, verifiedAtMs: SENT, eventTimeMs: EARLIEST_MS, ...window }, old: null },
    ],
    ['it holds nothing', undefined, 0, { then: { qty: 0, ...isRead }, old: null }],
  ],
  'superseded, unknown level': [
    ['a later read did not show it', undefined, 3, { then: null, asks: 'conflict' }, superseded],
  ],
  'concurrent, agrees': [
    ['it was seen missing before', stockLevel(missed), 7, { then: { qty: 7, missingAtMs: null } }],
    [
      'the webhook came first',
      stockLevel(touchedLate),
      5,
      { then: { qty: 5, source: 'webhook', ...verified, readLoMs: EARLIEST_MS, readHiMs: READ.hiMs } },
    ],
    [
      'an earlier read is known from further on',
      stockLevel({ ...touchedLate, ...later }),
      5,
      { then: later },
    ],
    ['a later read has been merged', stockLevel(newer), 5, { then: { qty: 5, ...newer } }, superseded],
  ],
  'concurrent, differs': [
    [
      'it was seen missing before',
      stockLevel(missed),
      3,
      { then: { qty: 7, missingAtMs: null }, asks: 'order' },
    ],
    [
      'touched after it was sent',
      stockLevel(touchedLate),
      6,
      { then: { qty: 5, verifiedAtMs: null, readLoMs: EARLIEST_MS, onHand: null }, asks: 'order' },
    ],
    [
      'touched too little before it was sent',
      stockLevel({ eventAtMs: SENT - 1_999 }),
      6,
      { then: { qty: 5 }, asks: 'order' },
    ],
    [
      'a tombstone that was touched',
      stockLevel({ ...touchedLate, goneAtMs: T0 }),
      5,
      { then: { qty: 5, goneAtMs: T0 }, asks: 'conflict' },
    ],
  ],
  'dominated, agrees': [
    [
      'the webhook was right',
      stockLevel({ missingAtMs: T0 }),
      5,
      {
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
    ],
    [
      'an earlier read is known from as far on',
      stockLevel({ ...later, readLoMs: READ.hiMs }),
      5,
      { then: { readLoMs: READ.hiMs, readHiMs: READ.hiMs } },
    ],
    [
      'an earlier read has a window that no earlier one can have: a clock was wrong',
      stockLevel({ ...later, readLoMs: READ.hiMs + 1 }),
      5,
      { then: window },
    ],
  ],
  'dominated, drift': [
    [
      'a delivery was lost',
      stockLevel(),
      6,
      { then: { qty: 6, ...isRead, eventTimeMs: T0, eventOld: 4, ...window }, old: 5 },
    ],
    [
      'another read was merged before it',
      stockLevel({ verifiedAtMs: SENT - 1, readHiMs: READ.loMs }),
      6,
      { then: { qty: 6, ...window }, old: 5 },
    ],
    [
      'its window is unbounded, and no read came before it',
      stockLevel(),
      6,
      { then: { qty: 6, readLoMs: EARLIEST_MS }, old: 5 },
      { loMs: EARLIEST_MS },
    ],
  ],
  'dominated, restored': [
    [
      'with the value it died with',
      stockLevel({ goneAtMs: T0, missingAtMs: T0 }),
      5,
      { then: { qty: 5, ...isRead, goneAtMs: null, missingAtMs: null }, old: null },
    ],
  ],
};

const cases = Object.entries(ROWS).flatMap(([branch, rows]) => rows.map((row) => ({ branch, row })));

test.each(cases)('$branch: $row.0', ({ branch, row: [, before, qty, { then, old, asks }, read] }) => {
  const overwritten = old === undefined ? null : { oldQty: old };
  const outcome = judgeLevel(before, VARIANT, level(qty), readContext(read));
  expect(outcome).toMatchObject({ branch, overwritten, doubt: asks ?? null, level: then });
});
