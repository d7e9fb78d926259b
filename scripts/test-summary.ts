/**
 * Adds up the JSON reports of several vitest runs into one plain line, `12 passed, 0 failed, 1 skipped`, after the
 * name and the first lines of the message of each test that failed:
 *
 *     node scripts/test-summary.ts REPORT…
 *
 * Exits 1 when a test failed or was skipped, when a run failed otherwise, or when it left no report. Elsewhere a test
 * whose program is missing may be skipped; here all are installed, and one that is not would go untested unnoticed.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { z } from 'zod';

const MESSAGE_LINES = 12;

const testSchema = z.object({
  status: z.string(),
  fullName: z.string(),
  failureMessages: z.array(z.string()),
});
const reportSchema = z.object({
  success: z.boolean(),
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().default(''),
      assertionResults: z.array(testSchema),
    }),
  ),
});

const total = { passed: 0, failed: 0, skipped: 0 };
let isGreen = true;

function tell(file: string, test: string, message: string): void {
  console.log(`FAILED ${relative(process.cwd(), file)}${test === '' ? '' : ` › ${test}`}`);
  for (const line of message.split('\n').slice(0, MESSAGE_LINES)) console.log(`    ${line}`);
}

for (const path of process.argv.slice(2)) {
  try {
    const report = reportSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    // Not loaded, or a hook failed: no test of the file says so, those after the hook are merely not run.
    const broken = report.testResults.filter(
      (file) =>
        file.status === 'failed' &&
        (file.message !== '' || file.assertionResults.every(({ status }) => status !== 'failed')),
    );
    for (const file of broken) tell(file.name, '', file.message || 'a hook failed: the run says above which');
    for (const file of report.testResults) {
      for (const test of file.assertionResults) {
        if (test.status === 'failed') tell(file.name, test.fullName, test.failureMessages.join('\n'));
        else if (test.status !== 'passed') tell(file.name, test.fullName, `not run: ${test.status}`);
      }
    }
    total.passed += report.numPassedTests;
    total.failed += report.numFailedTests + broken.length;
    total.skipped += report.numPendingTests + report.numTodoTests;
    isGreen &&= report.success;
  } catch (error) {
    console.error(`no results in ${path}: ${error instanceof Error ? error.message : String(error)}`);
    isGreen = false;
  }
}

const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
if (!isGreen || total.failed > 0 || total.skipped > 0) process.exitCode = 1;
