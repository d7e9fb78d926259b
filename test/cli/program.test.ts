import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { describeError, runProgram } from '../../src/cli/run.ts';
import { ConfigError } from '../../src/config/config.ts';
import { StoreError } from '../../src/sqlite/errors.ts';

let stdout = '';
let stderr = '';

beforeEach(() => {
  stdout = '';
  stderr = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean((stdout += text.toString())));
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((stderr += text.toString())));
});
afterEach(() => {
  vi.restoreAllMocks();
});

function run(
  args: readonly string[],
  action: () => void | Promise<void> = () => undefined,
): Promise<number | undefined> {
  const inner = new Command('inner').option('--port <n>').action(action);
  const verb = new Command('verb').description('Does it.').addCommand(inner);
  return runProgram(createProgram([verb]), args);
}

describe('exit codes', () => {
  it.each<[args: string[], code: number | undefined, out: RegExp, err: RegExp]>([
    [['--help'], 0, /^Usage: stock-mirror [^]*verb +Does it\./, /^$/],
    [['--version'], 0, /^\d+\.\d+\.\d+\n$/, /^$/],
    [['help'], 0, /^Usage: stock-mirror /, /^$/],
    [['verb', 'inner', '--help'], 0, /^Usage: stock-mirror verb inner /, /^$/],
    [[], 2, /^$/, /^Usage: stock-mirror /],
    [['verb'], 2, /^$/, /^Usage: stock-mirror verb /],
    [['frobnicate'], 2, /^$/, /^error: unknown command 'frobnicate'\nUse --help to list/],
    [['--frobnicate'], 2, /^$/, /^error: unknown option '--frobnicate'/],
    [['verb', 'inner', '--frobnicate'], 2, /^$/, /^error: unknown option '--frobnicate'/],
    [['verb', 'inner', '--port'], 2, /^$/, /^error: option '--port <n>' argument missing/],
    [['verb', 'inner', 'extra'], 2, /^$/, /^error: too many arguments/],
    [['verb', 'inner'], undefined, /^$/, /^$/],
  ])('%j gives %s', async (args, code, out, err) => {
    expect(await run(args)).toBe(code);
    expect(stdout).toMatch(out);
    expect(stderr).toMatch(err);
  });

  it('is 1 for an error, printed with its causes on one line', async () => {
    const cause = new Error('connect ECONNREFUSED');
    const action = () => Promise.reject<void>(new Error('cannot read the product', { cause }));
    expect(await run(['verb', 'inner'], action)).toBe(1);
    expect(stderr).toBe('error: cannot read the product: connect ECONNREFUSED\n');
  });

  it('is 1 for errors of store and SQLite, printed with their remedy', async () => {
    const cause = Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' });
    const refused = new StoreError('damaged', 'mirror.db is\n damaged: restore a backup.', { cause });
    expect(await run(['verb', 'inner'], () => Promise.reject<void>(refused))).toBe(1);
    expect(stderr).toBe('error: mirror.db is damaged: restore a backup.\n');
    stderr = '';
    expect(await run(['verb', 'inner'], () => Promise.reject<void>(cause))).toBe(1);
    expect(stderr).toMatch(/^error: the database is damaged \(SQLITE_CORRUPT\): stop the mirror, /);
  });

  it('is 2 for a wrong configuration, printed with every problem and remedy', async () => {
    const error = new ConfigError([{ name: 'PORT', problem: 'is "x"', remedy: 'Use a port.' }]);
    expect(await run(['verb', 'inner'], () => Promise.reject<void>(error))).toBe(2);
    expect(stderr).toMatch(/^The configuration has a problem:\n {2}PORT is "x"\n {4}Use a port\.\n/);
  });
});

const loop = new Error('round');
loop.cause = loop;

it.each<[error: unknown, text: string]>([
  [new Error('one'), 'one'],
  [new Error('one', { cause: new Error('two', { cause: 'three' }) }), 'one: two: three'],
  [new Error('one\n  and more'), 'one and more'],
  [new TypeError(''), 'TypeError'],
  ['text', 'text'],
  [loop, 'round'],
])('describeError: %o', (error, text) => {
  expect(describeError(error)).toBe(text);
});
