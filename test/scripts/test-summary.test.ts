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
  testResults: [{ status: 'passed', assertionResults: [{}, {}, {}] }],
};
const RED = { ...GREEN, success: false, numFailedTests: 2 };
const SKIPPING = { ...GREEN, numPendingTests: 4, numTodoTests: 1 };
const UNLOADABLE = { ...GREEN, success: false, testResults: [{ status: 'failed', assertionResults: [] }] };
const ERROR_OUTSIDE_TESTS = { ...GREEN, success: false };

it.each<[reports: unknown[], line: string, status: number]>([
  [[GREEN], '3 passed, 0 failed', 0],
  [[GREEN, SKIPPING], '6 passed, 0 failed, 5 skipped', 0],
  [[RED, GREEN], '6 passed, 2 failed', 1],
  [[UNLOADABLE], '3 passed, 1 failed', 1],
  [[ERROR_OUTSIDE_TESTS], '3 passed, 0 failed', 1],
  [[GREEN, 'no report'], '3 passed, 0 failed', 1],
  [[GREEN, undefined], '3 passed, 0 failed', 1],
])('case %#: %s', (reports, line, status) => {
  const paths = reports.map((report, index) => {
    const path = join(folder, `${index}.json`);
    rmSync(path, { force: true });
    if (report !== undefined) writeFileSync(path, JSON.stringify(report));
    return path;
  });
  const run = spawnSync(process.execPath, [script, ...paths], { encoding: 'utf8' });
  expect(run.stdout).toBe(`${line}\n`);
  expect(run.status).toBe(status);
});
