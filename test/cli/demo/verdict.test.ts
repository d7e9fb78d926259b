import { expect, test } from 'vitest';
import { judge } from '../../../src/cli/demo/verdict.ts';

const TALLY = {
  ...{ changes: 44, sent: 30, lost: 3, missed: 2, duplicated: 4, late: 5 },
  ...{ gapsOpened: 6, gapsClosed: 1, lossesProved: 5, repaired: 9 },
};
const EQUAL = { levels: 47, certain: 47, wrong: 0, totals: 25, products: 15, untold: 0, differences: [] };

test('equal figures in a mirror at rest are a success', () => {
  const { text, exitCode } = judge(EQUAL, TALLY, { isAtRest: true });
  expect(exitCode).toBe(0);
  expect(text).toContain('VERDICT: equal.');
  expect(text).toContain('30 sent: 3 lost, 2 not answered, 4 delivered twice, 5 late');
});

test('equal figures in a mirror that never came to rest are none', () => {
  const { text, exitCode } = judge(EQUAL, TALLY, { isAtRest: false });
  expect(exitCode).toBe(1);
  expect(text).toContain('VERDICT: unfinished. The mirror still has products to read; 0 figures differ.');
});

test('differences are counted, and the first ones shown', () => {
  const differences = Array.from({ length: 23 }, (_, index) => `level ${index}: off`);
  const { text, exitCode } = judge({ ...EQUAL, differences }, TALLY, { isAtRest: true });
  expect(exitCode).toBe(1);
  expect(text).toContain('VERDICT: different. 23 figures differ.');
  expect(text.match(/: off/g)).toHaveLength(20);
  expect(text).toContain('and 3 more');
  expect(judge({ ...EQUAL, differences: ['x'] }, TALLY, { isAtRest: true }).text).toContain(
    '1 figure differs.',
  );
});

test('what is not compared is counted apart', () => {
  expect(judge({ ...EQUAL, untold: 4 }, TALLY, { isAtRest: true }).text).toContain(
    '\napart       4 stock levels of other stores, whose products are resold: only webhooks tell them, no read can\n',
  );
});
