/** Holds what an ERP sees in the mirror against the simulated service's truth. */
import { compareWithTruth as compare, missedVariants } from '../../src/cli/demo/compare.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';

/** @returns one line per difference; none when the mirror equals the truth. */
export function compareWithTruth(databasePath: string, sandbox: Sandbox): readonly string[] {
  return compare(databasePath, sandbox.truth, missedVariants(sandbox.deliveries)).differences;
}
