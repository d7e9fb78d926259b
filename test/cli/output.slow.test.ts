import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { lacking } from '../shared/programs.ts';
import { CLI, temporaryFolder } from './harness.ts';

/** @param into a redirection or pipe of the shell. */
function help(into: string): { status: number | null; stdout: string; stderr: string } {
  const script = `"$0" "$1" --help ${into}`;
  return spawnSync('bash', ['-o', 'pipefail', '-c', script, process.execPath, CLI], { encoding: 'utf8' });
}

const lacks = lacking('bash');

test.skipIf(lacks)(`exits 0 if the reader stops, as head does${lacks}`, () => {
  expect(help('| true')).toMatchObject({ status: 0, stdout: '', stderr: '' });
});

test.skipIf(lacks)(`reports a full disk${lacks}`, () => {
  const { status, stderr } = help('> /dev/full');
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'error: the standard output cannot be written: ENOSPC: no space left on device, write\n',
  });
});

test('prints no colours into a pipe, also under CI', () => {
  const { stdout } = spawnSync(process.execPath, [CLI, 'doctor'], {
    cwd: temporaryFolder(),
    env: { CI: 'true' },
    encoding: 'utf8',
  });
  expect(stdout).toMatch(/^fail {2}configuration /);
});
