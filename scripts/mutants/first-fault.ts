/** Runs seeds of the simulation until one fails: `node scripts/mutants/first-fault.ts <from> <count>`, a line for each. */
import { drawPlan } from '../../test/simulation/plan.ts';
import { runPlan } from '../../test/simulation/run.ts';

const [from = 1, count = 1] = process.argv.slice(2, 4).map(Number);
for (let seed = from; seed < from + count; seed += 1) {
  const { faults } = await runPlan(drawPlan(seed));
  const fault = faults[0]?.split('\n')[0] ?? null;
  console.log(JSON.stringify({ seed, fault }));
  if (fault !== null) process.exit(1);
}
// What a mutant leaves waiting must not keep the process.
process.exit(0);
