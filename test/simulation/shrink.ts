/** Shortens a plan while it fails in the same way. */
import type { Plan } from './plan.ts';
import { runPlan, type Outcome } from './run.ts';

export function wayOf(outcome: Pick<Outcome, 'faults'>): string | null {
  return (
    outcome.faults[0]
      ?.split('\n')[0]
      ?.replaceAll(/[0-9]+/g, '#')
      .slice(0, 60) ?? null
  );
}

export async function shrink(plan: Plan, way: string, isOver: () => boolean): Promise<Plan> {
  let best = plan;
  const stillFails = async (candidate: Plan): Promise<boolean> => {
    if (isOver() || wayOf(await runPlan(candidate)) !== way) return false;
    best = candidate;
    return true;
  };
  for (let size = Math.ceil(best.steps.length / 2); size >= 1 && !isOver(); size = Math.floor(size / 2)) {
    for (let at = 0; at < best.steps.length && !isOver();) {
      const steps = [...best.steps.slice(0, at), ...best.steps.slice(at + size)];
      if (!(await stillFails({ ...best, steps }))) at += size;
    }
  }
  const lastMs = best.steps.at(-1)?.atMs ?? 0;
  await stillFails({ ...best, activeMs: lastMs + 1 });
  for (const simpler of [
    { products: 2 },
    { nodeSkewMs: 0 },
    { serviceOffsetMs: 0 },
    { readLatencyMs: 0 },
    { reconcileCron: null },
    { resyncCron: null },
    { maxConcurrency: 8, maxRps: 50 },
  ]) {
    await stillFails({ ...best, ...simpler });
  }
  return best;
}
