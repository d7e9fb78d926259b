import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { describeError, runProgram } from '../../src/cli/run.ts';
import { commandsFor } from '../../src/cli/verbs.ts';
import { ConfigError } from '../../src/config/config.ts';
import { SqliteFault } from '../../src/sqlite/errors.ts';
import { run as runChild, temporaryFolder, type Home } from './harness.ts';

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
  const verb = new Command('verb').description('Does it.').option('--port <n>').action(action);
  return runProgram(createProgram([verb]), args);
}

describe('exit codes', () => {
  it.each<[args: string[], code: number | undefined, out: RegExp, err: RegExp]>([
    [['--help'], 0, /^Usage: stock-mirror [^]*verb .* Does it\./, /^$/],
    [['--version'], 0, /^\d+\.\d+\.\d+\n$/, /^$/],
    [['help'], 0, /^Usage: stock-mirror /, /^$/],
    [['verb', '--help'], 0, /^Usage: stock-mirror verb /, /^$/],
    [[], 2, /^$/, /^Usage: stock-mirror /],
    [['frobnicate'], 2, /^$/, /^error: unknown command 'frobnicate'\nUse --help to list/],
    [['--frobnicate'], 2, /^$/, /^error: unknown option '--frobnicate'/],
    [['verb', '--frobnicate'], 2, /^$/, /^error: unknown option '--frobnicate'/],
    [['verb', '--port'], 2, /^$/, /^error: option '--port <n>' argument missing/],
    [['verb', 'extra'], 2, /^$/, /^error: too many arguments/],
    [['verb'], undefined, /^$/, /^$/],
  ])('%j gives %s', async (args, code, out, err) => {
    expect(await run(args)).toBe(code);
    expect(stdout).toMatch(out);
    expect(stderr).toMatch(err);
  });

  it('is 1 for an error, printed with its causes on one line', async () => {
    const cause = new Error('connect ECONNREFUSED');
    const action = () => Promise.reject<void>(new Error('cannot read the product', { cause }));
    expect(await run(['verb'], action)).toBe(1);
    expect(stderr).toBe('error: cannot read the product: connect ECONNREFUSED\n');
  });

  it('is 1 for errors of store and SQLite, printed with their remedy', async () => {
    const cause = Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' });
    const refused = new SqliteFault('damaged', 'mirror.db is\n damaged: restore a backup.', { cause });
    expect(await run(['verb'], () => Promise.reject<void>(refused))).toBe(1);
    expect(stderr).toBe('error: mirror.db is damaged: restore a backup.\n');
    stderr = '';
    expect(await run(['verb'], () => Promise.reject<void>(cause))).toBe(1);
    expect(stderr).toMatch(/^error: the database is damaged \(SQLITE_CORRUPT\): the mirror moves it aside /);
  });

  it('is 2 for a wrong configuration, printed with every problem and remedy', async () => {
    const error = new ConfigError([{ name: 'PORT', problem: 'is "x"', remedy: 'Use a port.' }]);
    expect(await run(['verb'], () => Promise.reject<void>(error))).toBe(2);
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

async function runReal(...args: string[]): Promise<number | undefined> {
  return runProgram(createProgram(await commandsFor(args)), args);
}

const VERBS = 'serve resync verify status doctor export backup send sandbox demo'.split(' ');

it.each(VERBS)('%s --help names its options', async (verb) => {
  expect(await runReal(verb, '--help')).toBe(0);
  expect(stderr).toBe('');
  expect(stdout).toMatch(new RegExp(`^Usage: stock-mirror ${verb} [^]*^ +-h, --help `, 'm'));
});

it.each([
  ['resync --all', `unknown option '--all'`],
  ['resync --product abc', `argument 'abc' is invalid. An id consists of digits.`],
  ['resync --product 12 1.5', 'An id consists of digits.'],
  ['resync --product', `'--product <id...>' argument missing`],
  ['resync 12', 'too many arguments'],
  ['demo --seconds 9', 'It must be a whole number from 10 to 86400.'],
  ['demo --rate 1e3', 'It must be a number from 0.1 to 1000.'],
  ['demo --products -5', 'It must be a whole number from 5 to 100000.'],
  ['demo --seed 1.5', 'It must be a whole number from 0 to 4294967295.'],
  ['status --json=yes', '--json'],
  ['export', '--format <format> is needed'],
  ['export --output stock.xls', '--format <format> is needed'],
  ['export --format xml', 'csv, json'],
  ['export --format csv --after -1', 'It must be a whole number from 0'],
  ['verify --sample 0', 'It must be a whole number from 1 to 10000000.'],
  ['verify --sample 5 --product 1', '--product'],
  ['sandbox --port 70000', '0 to 65535'],
  ['sandbox --faults loss', '{"loss": 0.1}'],
  ['sandbox --faults {"loss":1.5}', 'loss'],
  ['sandbox --faults {"los":1}', 'los: unknown field. The fields are loss, duplicate, reorder,'],
  ['sandbox --webhook-url localhost', 'http'],
  ['send --url http://user:s3cret@localhost/', 'address must not contain credentials'],
])('refuses `%s` and names the right usage', async (line, said) => {
  expect(await runReal(...line.split(' '))).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toContain(said);
  expect(stderr).not.toContain('s3cret');
});

describe('as a command', () => {
  // Nothing listens on this port, whatever else runs on the machine.
  const bare: Home = { folder: temporaryFolder(), env: { OPS_PORT: '2' } };

  it('--help lists every verb', async () => {
    const { code, stdout: text } = await runChild(bare, '--help');
    expect(code).toBe(0);
    for (const verb of VERBS) {
      expect(text).toMatch(new RegExp(`^  ${verb} .*\\S$`, 'm'));
    }
  });

  it.each(['serve', 'verify', 'send'])(
    '%s without a configuration exits 2 and names every variable',
    async (verb) => {
      const ended = await runChild(bare, verb);
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      for (const name of ['BASE_URL', 'CLIENT_ID', 'CLIENT_SECRET', 'WEBHOOK_SECRET'])
        expect(ended.stderr).toContain(`  SERVICE_${name} is missing\n`);
    },
  );
});
