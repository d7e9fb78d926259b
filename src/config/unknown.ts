/** Misspelt names: a setting that silently keeps its default is worse than a failed start. */
import type { ConfigProblem } from './error.ts';
import { SETTABLE_NAMES } from './variables.ts';

/** Any name in the environment of a process may belong to another program, except under these prefixes. */
const OWN_PREFIX = /^(SERVICE|OPS|RECONCILE|RESYNC|RETENTION|DATABASE)_/;

/** Two typing errors; beyond that the name is more likely another program's. */
const NEAR = 2;

export function unknownInEnvironment(names: readonly string[]): ConfigProblem[] {
  return names.filter((name) => OWN_PREFIX.test(name) && !SETTABLE_NAMES.includes(name)).map(report);
}

/**
 * A `.env` file may serve other programs as well (compose reads it too), so an unrelated name is no error; one that
 * is close to a variable of the mirror is.
 */
export function unknownInDotenv(names: readonly string[]): ConfigProblem[] {
  return names
    .filter((name) => !SETTABLE_NAMES.includes(name))
    .filter((name) => OWN_PREFIX.test(name) || (name.length > 4 && nearest(name).distance <= NEAR))
    .map(report);
}

function report(name: string): ConfigProblem {
  return {
    name,
    problem: `is not a variable of stock-mirror; did you mean ${nearest(name).name}?`,
    remedy: 'Correct the name, or remove it from the environment and from .env.',
  };
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
