/** Runs the seeds it is sent, one after the other, as ../seed-process.ts does of one machine. */
import { drawClusterPlan } from './plan.ts';
import { runClusterPlan } from './run.ts';

process.on('message', (seed: number) => {
  void runClusterPlan(drawClusterPlan(seed)).then(
    (outcome) => process.send?.({ seed, outcome }),
    (error: unknown) => {
      const fault = `the simulation itself failed: ${error instanceof Error ? error.stack : String(error)}`;
      process.send?.({ seed, outcome: null, fault });
    },
  );
});
