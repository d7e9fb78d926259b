import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SCRIPT = join(import.meta.dirname, '../../scripts/histories.ts');
/** `.ci/run` draws it from the commit, so that each commit draws other histories. */
const SEED = process.env['SEED'] ?? '11';
const COUNT = '50000';

test('every property holds on 50,000 histories', { timeout: 600_000 }, () => {
  const args = ['--count', COUNT, '--minutes', '9', '--seed', SEED];
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' });
  expect(status, `npm run histories -- ${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
  expect(stdout).toContain('50,000 histories, and every property holds');
});
