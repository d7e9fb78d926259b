/** Runs seeds one by one: virtual time is global. */
import { drawPlan } from './draw-plan.ts';
import type { Kind } from './plan.ts';
import { runPlan } from './run.ts';

process.on('message', ({ seed, kind }: { seed: number; kind: Kind }) => {
  void runPlan(drawPlan(seed, kind)).then(
    (outcome) => process.send?.({ seed, outcome }),
    (error: unknown) => {
      const fault = `the simulation itself failed: ${error instanceof Error ? error.stack : String(error)}`;
      process.send?.({ seed, outcome: null, fault });
    },
  );
});
