import { compareWithTruth as compare } from '../../src/cli/demo/compare.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';

export function compareWithTruth(databasePath: string, sandbox: Sandbox): readonly string[] {
  return compare(databasePath, sandbox.truth, missedVariants(sandbox.deliveries)).differences;
}

/** Variants with an unacknowledged webhook. For the levels of a pulled variant, no read can replace it. */
export function missedVariants({ records }: Pick<Sandbox['deliveries'], 'records'>): Set<string> {
  const missed = records.filter(({ outcome, status }) => outcome !== 'answered' || status !== 204);
  return new Set(missed.flatMap(({ delivery }) => delivery.items.map((item) => item.id)));
}
