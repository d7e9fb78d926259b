/** Runs the seeds it is sent, one after the other: time is a global, so a process has one simulation at a time. */
import { drawPlan } from './plan.ts';
import { runPlan } from './run.ts';

process.on('message', (seed: number) => {
  void runPlan(drawPlan(seed)).then(
    (outcome) => process.send?.({ seed, outcome }),
    (error: unknown) => {
      const fault = `the simulation itself failed: ${error instanceof Error ? error.stack : String(error)}`;
      process.send?.({ seed, outcome: null, fault });
    },
  );
});
