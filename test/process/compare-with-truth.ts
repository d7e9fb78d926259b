import { compareWithTruth as compare } from '../../src/cli/demo/compare.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';

export function compareWithTruth(databasePath: string, sandbox: Sandbox): readonly string[] {
  return compare(databasePath, sandbox.truth).differences;
}
