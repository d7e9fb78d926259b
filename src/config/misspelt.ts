/**
 * Likely misspellings of our names. Any other name belongs to another program: a hosting platform may inject
 * `DATABASE_URL` or `SERVICE_NAME`, and a `.env` file may serve compose too. A misspelling is a warning and never a
 * refusal, because what looks like one may be another program's name as well.
 */
import type { ConfigProblem } from './error.ts';
import { SETTABLE_NAMES } from './variables.ts';

/** In the environment, where short names of many programs meet, only names under these are looked at. */
const OWN_PREFIX = /^(SERVICE|OPS|RECONCILE|RESYNC|RETENTION|DATABASE)_/;

/** Two slips of the keyboard; further away the name is more likely another program's. */
const NEAR = 2;

export function misspeltInEnvironment(names: readonly string[]): ConfigProblem[] {
  return misspelt(names.filter((name) => OWN_PREFIX.test(name)));
}

export function misspeltInDotenv(names: readonly string[]): ConfigProblem[] {
  return misspelt(names.filter((name) => name.length > 4));
}

function misspelt(names: readonly string[]): ConfigProblem[] {
  return names
    .filter((name) => !SETTABLE_NAMES.includes(name))
    .flatMap((name) => {
      // `_FILE` behind the name of a variable that cannot be read from a file.
      const meant = SETTABLE_NAMES.find((known) => name === `${known}_FILE`) ?? nearName(name);
      if (meant === undefined) return [];
      return [
        {
          name,
          problem: `is not a variable of stock-mirror and is ignored; did you mean ${meant}?`,
          remedy: 'Correct the name, or remove it from the environment and from .env.',
        },
      ];
    });
}

function nearName(name: string): string | undefined {
  const { name: candidate, distance } = nearest(name);
  return distance <= NEAR ? candidate : undefined;
}

function nearest(name: string): { name: string; distance: number } {
  let best = { name: '', distance: Infinity };
  for (const candidate of SETTABLE_NAMES) {
    const distance = editDistance(name.toUpperCase(), candidate);
    if (distance < best.distance) best = { name: candidate, distance };
  }
  return best;
}

/** Levenshtein distance, one row of its table at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 0; i < from.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j += 1) {
      const replaced = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
