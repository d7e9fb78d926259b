import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { boardLine, boardLines } from '../../../src/cli/demo/board.ts';

const TALLY = {
  ...{ changes: 1_234, sent: 800, lost: 90, missed: 21, duplicated: 4, late: 5 },
  ...{ gapsOpened: 60, gapsClosed: 1, lossesProved: 55, repaired: 70 },
};
const COMPARISON = {
  ...{ levels: 160, certain: 159, wrong: 2, totals: 104, products: 60, untold: 28 },
  differences: ['level …', 'level …', 'total …'],
};

const figuresOf = (lines: readonly string[]) =>
  lines.filter((line) => /^ {2}\S/.test(line)).map((line) => line.slice(0, 28).replace(/\s+/g, ' ').trim());

test('six figures, and what comes next', () => {
  const lines = boardLines({ tally: TALLY, comparison: COMPARISON }, 'the mirror is down');
  expect(figuresOf(lines)).toEqual([
    'changes 1,234',
    'lost on purpose 111',
    'proven lost 55',
    'repaired 70',
    'wrong right now 2',
    'certain 99.3 %',
    'the mirror is down',
  ]);
  expect(lines.join('\n')).toContain('90 never sent, 21 while the mirror was killed');
  expect(lines.join('\n')).toContain('in 800 webhooks; 4 sent twice, 5 late');
  // A usual terminal shows each whole, in its colours.
  for (const line of lines) expect(stripVTControlCharacters(line).length).toBeLessThan(80);
});

test('only all of them are 100 %', () => {
  const most = { ...COMPARISON, levels: 100_000, certain: 99_999 };
  expect(boardLine({ tally: TALLY, comparison: most })).toMatch(/ 99\.9 % certain$/);
  const all = { ...COMPARISON, certain: 160, wrong: 0 };
  expect(boardLine({ tally: TALLY, comparison: all })).toMatch(
    /right now 0 of 160 stock levels wrong, 100 % certain$/,
  );
});
