/** Programs of the machine that a test runs as the documents do. */
import { spawnSync } from 'node:child_process';

/** @returns nothing when all are there; else words for the name of a test that is skipped without them. */
export function lacking(...programs: readonly string[]): string {
  const missing = programs.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  return missing.length === 0 ? '' : ` (skipped: needs ${missing.join(', ')})`;
}
