/**
 * Adds up the JSON reports of several vitest runs into one plain line, `12 passed, 0 failed, 1 skipped`:
 *
 *     node scripts/test-summary.ts REPORT…
 *
 * Exits 1 when a test failed, when a run failed otherwise, or when it left no report.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const reportSchema = z.object({
  success: z.boolean(),
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int(),
  testResults: z.array(z.object({ status: z.string(), assertionResults: z.array(z.unknown()) })),
});

const total = { passed: 0, failed: 0, skipped: 0 };
let isGreen = true;

for (const path of process.argv.slice(2)) {
  try {
    const report = reportSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    // A file that could not be loaded has no tests to count, and is a failure all the same.
    const broken = report.testResults.filter(
      (file) => file.status === 'failed' && file.assertionResults.length === 0,
    );
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
if (!isGreen || total.failed > 0) process.exitCode = 1;
