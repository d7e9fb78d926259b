/** Plants one mutant after the other, a few at once, and asks the checks about each. */
import type { Mutant } from './mutant.ts';
import { Trees } from './tree.ts';

/** A check failed, as it should on a mutant. */
export interface Catch {
  readonly by: string;
  readonly saying: string;
}

export interface Verdict {
  readonly mutant: Mutant;
  /** Null: it survived. */
  readonly caught: Catch | null;
  readonly seconds: number;
}

export interface CourseOptions {
  readonly root: string;
  readonly mutants: readonly Mutant[];
  readonly atOnce: number;
  /** @param mutant null: the unmutated source, which all checks must pass. @returns what caught it. */
  readonly check: (folder: string, mutant: Mutant | null) => Promise<Catch | null>;
  readonly onVerdict: (verdict: Verdict) => void;
}

/** @throws Error when a mutant does not apply, or the unmutated source fails: then nothing would be proven. */
export async function runCourse(options: CourseOptions): Promise<readonly Verdict[]> {
  const { mutants, atOnce, check, onVerdict } = options;
  const trees = new Trees(options.root);
  const ask = async (mutant: Mutant | null): Promise<Catch | null> => {
    const folder = trees.plant(mutant);
    try {
      return await check(folder, mutant);
    } finally {
      trees.fell(folder);
    }
  };
  try {
    // All of them first: a list that is out of date should not take minutes to say so.
    for (const mutant of mutants) trees.mutated(mutant);
    const fault = await ask(null);
    if (fault !== null)
      throw new Error(`the unmutated source fails, by ${fault.by}: ${fault.saying}; mend that first`);

    const verdicts: Verdict[] = [];
    const waiting = [...mutants];
    const work = async (): Promise<void> => {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        const startedMs = performance.now();
        const caught = await ask(mutant);
        const verdict = { mutant, caught, seconds: (performance.now() - startedMs) / 1_000 };
        verdicts.push(verdict);
        onVerdict(verdict);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return verdicts;
  } finally {
    trees.remove();
  }
}
