/** A reporter for vitest: the tests that were skipped, with what their names say they need. */
import type { Reporter } from 'vitest/node';

export default class SkippedTests implements Reporter {
  onTestRunEnd(...[files]: Parameters<NonNullable<Reporter['onTestRunEnd']>>): void {
    const skipped = files.flatMap((file) =>
      [...file.children.allTests('skipped')].map((test) => `${file.relativeModuleId} › ${test.fullName}`),
    );
    if (skipped.length > 0) console.log(['Skipped:', ...skipped].join('\n  '));
  }
}
