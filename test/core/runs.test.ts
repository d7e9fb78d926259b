import { expect, test } from 'vitest';
import { countDifferences, isFullRead, RUN_KINDS } from '../../src/core/runs.ts';

test('a run of any kind reads every product, unless it searches for unknown ones or names its products', () => {
  const all = RUN_KINDS.filter((kind) => isFullRead({ kind, productIds: null }));
  expect(RUN_KINDS.filter((kind) => !all.includes(kind))).toEqual(['search']);
  expect(RUN_KINDS.filter((kind) => isFullRead({ kind, productIds: ['10'] }))).toEqual([]);
});

test('differences of all reasons are counted together', () => {
  expect(countDifferences({})).toBe(0);
  expect(countDifferences({ gap: 2, downtime: 3 })).toBe(5);
});
