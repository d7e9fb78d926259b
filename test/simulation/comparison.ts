/** The mirror against the store, as far as a mirror can know it. */
import { compareWithTruth } from '../../src/cli/demo/compare.ts';
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import type { Cast } from './cast.ts';

const SHOWN = 5;

/** @returns some of the differences, or null if they are equal. */
export function differences(cast: Cast, databasePath: string): string | null {
  const found = compareWithTruth(databasePath, { snapshot: () => truthAsDelivered(cast) });
  return found.differences.length === 0 ? null : found.differences.slice(0, SHOWN).join('; ');
}

function truthAsDelivered({ plan, service }: Cast): ReturnType<SimulatedService['truth']['snapshot']> {
  const truth = service.truth.snapshot();
  if (!plan.leavesOutWarehouses) return truth;
  const levels = truth.levels.map((level) => ({ ...level, kind: 'pulled' as const }));
  return { ...truth, levels };
}
