import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, type TestContext } from 'vitest';

/** Resources end with this test, since tests run concurrently. */
export type Owner = Pick<TestContext, 'onTestFinished'>;

/** Other users may enter it. @param test may be left out by tests that do not run concurrently. */
export function temporaryFolder(test: Owner = { onTestFinished }): string {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-'));
  chmodSync(folder, 0o755);
  test.onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
