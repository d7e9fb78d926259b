import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createProgress } from '../../src/cli/shared/progress.ts';

test('writes a line every 3 s, with the rate, the time that is left and what was found', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stream = new PassThrough();
  const progress = createProgress(stream);
  const linesAt = (ms: number, done: number, total: number, drift = 0): string => {
    vi.advanceTimersByTime(ms);
    progress.show({ done, total, drift });
    return String(stream.read() ?? '');
  };
  expect(linesAt(2_999, 0, 0)).toBe('');
  expect(linesAt(1, 0, 0)).toBe('reading the list of products\n');
  expect(linesAt(1_000, 100, 2_000)).toBe('');
  expect(linesAt(2_000, 120, 2_000, 1)).toBe('120/2000 products, 10.0/s, 3 min left, 1 difference\n');
  expect(linesAt(3_000, 1_950, 2_000)).toBe('1950/2000 products, 370.0/s, 0.1 s left\n');
  expect(linesAt(3_000, 2_000, 2_000)).toMatch(/^2000\/2000 products, [\d.]+\/s\n$/);
  progress.say('waiting: a\u001bb');
  expect(String(stream.read())).toBe('waiting: a\\u001bb\n');
});
