import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SCRIPT = join(import.meta.dirname, '../../scripts/simulate.ts');

/** Story 443 has conflicts that every read leaves open, for minutes. */
test.each([
  ['twenty stories of loss, disorder and crashes', 20, ['--from', '430', '--kind', 'history']],
  ['ten stories of life cycles', 10, ['--from', '1', '--kind', 'lives']],
  ['four stories of receivers, mirrors and a stream', 4, ['--from', '1', '--kind', 'stream']],
])('keeps every promise in %s', { timeout: 1_800_000 }, (_, seeds, options) => {
  const args = [SCRIPT, '--seeds', String(seeds), '--first-failure', ...options];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stdout).toMatch(new RegExp(`^${seeds} seeds in `, 'm'));
  expect(status, stdout).toBe(0);
});
