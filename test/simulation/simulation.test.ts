/** A slice of the simulation, as its users start it: `npm run simulate` runs as many seeds as one likes. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { present } from '../shared/present.ts';

const SCRIPT = join(import.meta.dirname, '../../scripts/simulate.ts');

async function simulate(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [SCRIPT, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.on('exit', resolve);
  return { code: await promise, output };
}

test(
  'every promise holds in twenty stories of loss, disorder and crashes',
  { timeout: 150_000 },
  async () => {
    const { code, output } = await simulate('--from', '1', '--seeds', '20', '--processes', '2');
    expect(output).toMatch(/^20 seeds in \d+ s, [\d.]+ per second/m);
    expect(output).toContain('every promise held');
    expect(code, output).toBe(0);
  },
);

test('the same seed is the same story', { timeout: 60_000 }, async () => {
  const stories = await Promise.all([1, 2].map(() => simulate('--seed', '77', '--trace')));
  expect(present(stories[0]).output).toMatch(/seed 77: every promise held/);
  expect(present(stories[0]).output.split('\n').length).toBeGreaterThan(100);
  expect(present(stories[1]).output).toBe(present(stories[0]).output);
});

test('a wrong option is refused with its name', async () => {
  const { code, output } = await simulate('--seeds', 'many');
  expect(output).toContain("option '--seeds <n>' argument 'many' is invalid");
  expect(code).not.toBe(0);
});
