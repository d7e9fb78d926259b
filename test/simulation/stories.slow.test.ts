import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SCRIPT = join(import.meta.dirname, '../../scripts/simulate.ts');
/** `.ci/run` draws it from the commit, so that each commit plays other stories. */
const FROM = process.env['SEED'] ?? '430';

/** No further story begins after a minute: some take long. What the script prints repeats a failure. */
test.each([
  ['history', 20],
  ['lives', 10],
  ['stream', 4],
])('keeps every promise in stories of %s', { timeout: 1_800_000 }, (kind, seeds) => {
  const args = [
    '--kind',
    kind,
    '--from',
    FROM,
    '--seeds',
    String(seeds),
    '--minutes',
    '1',
    '--first-failure',
  ];
  const { status, stdout } = spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' });
  expect(stdout).toMatch(/^[1-9]\d* seeds in /m);
  expect(status, stdout).toBe(0);
});
