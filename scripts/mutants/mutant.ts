/** A rule broken on purpose: what must not go unnoticed. */

export interface Mutant {
  readonly id: string;
  /** The rule that it breaks, with its place in the design. */
  readonly breaks: string;
  /** Below the project's root. */
  readonly file: string;
  /** The source as it is; must occur exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Which check is likely to catch it soonest; the properties when nothing is said. */
  readonly first?: 'simulation';
  /** Tests to ask as well, of a rule that neither the properties nor the simulation can see. */
  readonly tests?: readonly string[];
}

/** @throws Error when the mutant does not apply any more, because the source has changed. */
export function mutate(source: string, { id, file, find, replace }: Mutant): string {
  const places = source.split(find).length - 1;
  if (places !== 1) {
    throw new Error(
      `mutant ${id} no longer applies: its text occurs ${places} times in ${file}, not once; bring scripts/mutants up to date`,
    );
  }
  // Not as a pattern: `$&` in the text would mean something else.
  return source.replace(find, () => replace);
}
