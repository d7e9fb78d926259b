/** Runs seeds one by one: virtual time is global. */
import { drawPlan } from './plan.ts';
import { runPlan } from './run.ts';

process.on('message', ({ seed, isStreamed }: { seed: number; isStreamed: boolean }) => {
  void runPlan(drawPlan(seed, isStreamed)).then(
    (outcome) => process.send?.({ seed, outcome }),
    (error: unknown) => {
      const fault = `the simulation itself failed: ${error instanceof Error ? error.stack : String(error)}`;
      process.send?.({ seed, outcome: null, fault });
    },
  );
});
