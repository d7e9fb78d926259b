import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { createProgress } from '../../src/cli/shared/progress.ts';

function terminal(columns: number) {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns });
  const written = () => stripVTControlCharacters(String(stream.read() ?? '')).split('\r');
  return { stream: stream as unknown as NodeJS.WriteStream, written };
}

test('draws a bar at a terminal, and ends its line with the last value', () => {
  const { stream, written } = terminal(80);
  const progress = createProgress(stream);
  for (const done of [0, 1, 2, 3]) progress.show({ done, total: 4 });
  progress.end();
  progress.end();
  const lines = written();
  expect(lines.at(-1)).toBe(`${'█'.repeat(18)}${'░'.repeat(6)} 75%  3/4 products\n`);
  // Not every value is drawn.
  expect(lines).toHaveLength(3);
});

test('draws the last value also when nothing follows it', async () => {
  const { stream, written } = terminal(0);
  const progress = createProgress(stream);
  progress.show({ done: 0, total: 0 });
  progress.show({ done: 0, total: 4 });
  let text = '';
  await expect.poll(() => (text += written().join('\r'))).toContain('0%  0/4 products');
  progress.end();
});

test('is never wider than the terminal', () => {
  const { stream, written } = terminal(30);
  const progress = createProgress(stream);
  progress.show({ done: 1_000_000, total: 2_000_000, drift: 12 });
  progress.end();
  for (const line of written()) expect(line.trimEnd().length).toBeLessThan(30);
});
