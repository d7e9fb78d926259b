import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SCRIPT = join(import.meta.dirname, '../../scripts/simulate.ts');

test('keeps every promise in twenty stories of loss, disorder and crashes', () => {
  const { status, stdout } = spawnSync(process.execPath, [SCRIPT, '--seeds', '20', '--processes', '2'], {
    encoding: 'utf8',
  });
  expect(stdout).toMatch(/^20 seeds in /m);
  expect(status, stdout).toBe(0);
});
