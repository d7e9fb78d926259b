/** The completion scripts, in the shells that they are for. */
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { hasTerminal, run, temporaryFolder, untilPrinted, watch, type Home } from './harness.ts';

const home: Home = { folder: temporaryFolder(), env: {} };
const scriptOf = (shell: string): string => join(home.folder, `stock-mirror.${shell}`);
const isThere = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0;

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout, stderr } = await run(home, 'completion', shell);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    writeFileSync(scriptOf(shell), stdout);
  }
});

test('another shell is wrong usage', async () => {
  const { code, stdout, stderr } = await run(home, 'completion', 'tcsh');
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('bash, zsh, fish');
});

const CASES: readonly (readonly [
  typed: readonly string[],
  some: readonly string[],
  none: readonly string[],
])[] = [
  [[''], ['serve', 'status', 'completion', 'help'], ['csv']],
  [['ex'], ['export'], ['serve']],
  [['help', 'st'], ['status'], ['serve']],
  [
    ['export', '--fo'],
    ['--format', '--force'],
    ['--json', '--changes'],
  ],
  [['export', '--format', ''], ['csv', 'json'], ['--format']],
  [['export', '--changes', '--format', 'j'], ['json'], ['csv']],
  [['completion', ''], ['bash', 'zsh', 'fish'], ['serve']],
];

describe('bash', () => {
  function completed(typed: readonly string[]): string[] {
    const words = ['stock-mirror', ...typed].map((word) => `'${word}'`).join(' ');
    const program = `source '${scriptOf('bash')}'
      compopt() { echo "compopt $*"; }
      COMP_WORDS=(${words}); COMP_CWORD=${typed.length}; _stock_mirror; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', program], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return stdout.split('\n').filter((line) => line !== '');
  }

  test.each(CASES)('%j', (typed, some, none) => {
    const found = completed(typed);
    expect(found).toEqual(expect.arrayContaining([...some]));
    for (const word of none) expect(found).not.toContain(word);
  });

  test.each([[['export', '--output', '']], [['backup', 'mirr']], [['send', '--file', '=', '']]])(
    '%j: a file',
    (typed) => {
      expect(completed(typed)).toEqual(['compopt -o default']);
    },
  );

  test('--flag=value, which bash parts', () => {
    expect(completed(['export', '--format', '=', 'c'])).toEqual(['csv']);
    expect(completed(['export', '--format', '='])).toEqual(['csv', 'json']);
  });
});

describe.skipIf(!isThere('fish'))('fish', () => {
  function completed(typed: readonly string[]): string[] {
    const program = `source '${scriptOf('fish')}'; complete -C 'stock-mirror ${typed.join(' ')}'`;
    const { status, stdout, stderr } = spawnSync('fish', ['--no-config', '-c', program], {
      cwd: home.folder,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return stdout.split('\n').map((line) => line.split('\t')[0] ?? '');
  }

  test.each(CASES)('%j', (typed, some, none) => {
    const found = completed(typed);
    expect(found).toEqual(expect.arrayContaining([...some]));
    for (const word of none) expect(found).not.toContain(word);
  });

  test('a file only where one is taken', () => {
    for (const typed of [
      ['export', '--output', ''],
      ['backup', ''],
    ]) {
      expect(completed(typed)).toContain('stock-mirror.fish');
    }
    for (const typed of [
      ['status', ''],
      ['export', '--after', ''],
    ]) {
      expect(completed(typed)).not.toContain('stock-mirror.fish');
    }
  });
});

describe.skipIf(!isThere('zsh') || !hasTerminal)('zsh', () => {
  test.each([
    ['ex\t', 'export '],
    ['export --form\t', 'export --format '],
    ['export --format j\t', 'export --format json '],
    ['export --output stock-mirror.z\t', 'export --output stock-mirror.zsh '],
    ['backup stock-mirror.z\t', 'backup stock-mirror.zsh '],
    ['completion f\t', 'completion fish '],
  ])('%j becomes %j', async (typed, whole) => {
    const shell = spawn('script', ['--quiet', '--command', 'exec zsh -f -i', '/dev/null'], {
      cwd: home.folder,
      env: { PATH: process.env['PATH'], TERM: 'dumb', HOME: home.folder },
    });
    const shown = watch(shell);
    const load = `PS1='$ '; autoload -Uz compinit; compinit -u -D; source '${scriptOf('zsh')}'; echo ready\${:-!}\n`;
    shell.stdin.write(load);
    await untilPrinted(shown, /ready!/);
    shell.stdin.write(`stock-mirror ${typed}`);
    await untilPrinted(shown, new RegExp(`stock-mirror ${whole}`));
    // What a completion that fails says of itself.
    expect(shown.stdout).not.toMatch(/_arguments:|_describe:|not found/);
  });
});
