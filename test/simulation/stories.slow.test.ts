import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SCRIPT = join(import.meta.dirname, '../../scripts/simulate.ts');

/** 443 is one of them: conflicts that every read leaves open, for minutes. */
test('keeps every promise in twenty stories of loss, disorder and crashes', { timeout: 1_800_000 }, () => {
  const { status, stdout } = spawnSync(process.execPath, [SCRIPT, '--from', '430', '--seeds', '20'], {
    encoding: 'utf8',
  });
  expect(stdout).toMatch(/^20 seeds in /m);
  expect(status, stdout).toBe(0);
});
