import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/test-summary.ts', import.meta.url));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'stock-mirror-summary-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const GREEN = {
  success: true,
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [fileOf('passed', [test('one', 'passed'), test('two', 'passed'), test('three', 'passed')])],
};
const RED = {
  ...GREEN,
  success: false,
  numFailedTests: 1,
  testResults: [fileOf('failed', [test('one', 'passed'), test('two', 'failed')])],
};
const SKIPPING = {
  ...GREEN,
  numPendingTests: 1,
  testResults: [fileOf('passed', [test('one', 'passed'), test('four', 'skipped')])],
};
const UNLOADABLE = { ...GREEN, success: false, testResults: [fileOf('failed', [], 'no such export')] };
const WITH_A_BROKEN_HOOK = {
  ...GREEN,
  success: false,
  numPassedTests: 0,
  numPendingTests: 1,
  testResults: [fileOf('failed', [test('one', 'skipped')], 'not within 30 s')],
};
/** That of a `describe` leaves no message in the report. */
const WITH_A_BROKEN_INNER_HOOK = {
  ...GREEN,
  success: false,
  numPassedTests: 1,
  testResults: [fileOf('failed', [test('one', 'passed')])],
};
const ERROR_OUTSIDE_TESTS = { ...GREEN, success: false };

function fileOf(status: string, assertionResults: unknown[], message = '') {
  return { name: join(process.cwd(), 'test/a.test.ts'), status, message, assertionResults };
}

function test(fullName: string, status: string) {
  const failureMessages = status === 'failed' ? ['AssertionError: 1 is not 2\n    at test/a.test.ts:7'] : [];
  return { fullName, status, failureMessages };
}

it.each<[name: string, reports: unknown[], printed: string, status: number]>([
  ['one run', [GREEN], '3 passed, 0 failed', 0],
  ['several runs', [GREEN, GREEN], '6 passed, 0 failed', 0],
  [
    'a skipped test',
    [GREEN, SKIPPING],
    'FAILED test/a.test.ts › four\n    not run: skipped\n6 passed, 0 failed, 1 skipped',
    1,
  ],
  [
    'a failed test',
    [RED, GREEN],
    'FAILED test/a.test.ts › two\n    AssertionError: 1 is not 2\n        at test/a.test.ts:7\n6 passed, 1 failed',
    1,
  ],
  [
    'a file that does not load',
    [UNLOADABLE],
    'FAILED test/a.test.ts\n    no such export\n3 passed, 1 failed',
    1,
  ],
  [
    'a hook that fails',
    [WITH_A_BROKEN_HOOK],
    'FAILED test/a.test.ts\n    not within 30 s\n' +
      'FAILED test/a.test.ts › one\n    not run: skipped\n0 passed, 1 failed, 1 skipped',
    1,
  ],
  [
    'an inner hook that fails',
    [WITH_A_BROKEN_INNER_HOOK],
    'FAILED test/a.test.ts\n    a hook failed: the run says above which\n1 passed, 1 failed',
    1,
  ],
  ['an error outside tests', [ERROR_OUTSIDE_TESTS], '3 passed, 0 failed', 1],
  ['something else in a report', [GREEN, 'no report'], '3 passed, 0 failed', 1],
  ['no report', [GREEN, undefined], '3 passed, 0 failed', 1],
])('%s', (_name, reports, printed, status) => {
  const paths = reports.map((report, index) => {
    const path = join(folder, `${index}.json`);
    rmSync(path, { force: true });
    if (report !== undefined) writeFileSync(path, JSON.stringify(report));
    return path;
  });
  const run = spawnSync(process.execPath, [script, ...paths], { encoding: 'utf8' });
  expect(run.stdout).toBe(`${printed}\n`);
  expect(run.status).toBe(status);
});
