import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Fact } from '../../src/core/apply/fact.ts';
import { FactLog } from '../../src/ops/state/fact-log.ts';

let said: [level: string, details: Record<string, unknown>, message: string][];
let factLog: FactLog;

beforeEach(() => {
  vi.useFakeTimers();
  said = [];
  const at = (level: string) => (details: Record<string, unknown>, message: string) =>
    void said.push([level, details, message]);
  factLog = new FactLog({
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  } as never);
});
afterEach(() => {
  vi.useRealTimers();
});

const drift = (reason: 'gap' | 'derived', n = 1): Fact => ({
  kind: 'drift',
  reason,
  productId: '10',
  variantId: String(n),
  warehouseId: '1',
  oldQty: 1,
  newQty: 2,
});
const levels = (): string[] => said.map(([level]) => level);

test('logs everyday facts at debug level with their input number', () => {
  factLog.log({ kind: 'met', productId: '10', reason: 'operator', ageMs: 5 }, 7);
  factLog.log(drift('derived'), 8);
  expect(said.map(([level, { seq, kind }]) => [level, seq, kind])).toEqual([
    ['debug', 7, 'met'],
    ['debug', 8, 'drift'],
  ]);
});

test('limits one kind of line to its first 20 and a count', () => {
  for (let n = 1; n <= 1_000; n += 1) factLog.log(drift('gap', n), n);
  factLog.log({ kind: 'dead_letter', variantId: null, problem: 'no items' }, 1_001);
  expect(levels().filter((level) => level === 'info')).toHaveLength(20);
  expect(levels().filter((level) => level === 'debug')).toHaveLength(980);
  expect(levels().at(-1)).toBe('warn');

  said = [];
  vi.advanceTimersByTime(10_000);
  expect(said).toEqual([
    [
      'info',
      { repeated: 'drift', more: 980 },
      'repeated within 10 s: a read found a difference from the store and corrected it',
    ],
  ]);
  said = [];
  factLog.log(drift('gap'), 1_002);
  vi.advanceTimersByTime(10_000);
  expect(levels()).toEqual(['info']);
});

test('warns of an ignored Date header and names the owner', () => {
  factLog.log({ kind: 'date', isDropped: true }, 7);
  factLog.log({ kind: 'date', isDropped: false }, 8);
  expect(levels()).toEqual(['warn', 'info']);
  expect(said[0]?.[2]).toContain('report it to the store');
});
