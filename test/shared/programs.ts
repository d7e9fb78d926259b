import { spawnSync } from 'node:child_process';

/** @returns a note for the test's name if a program is missing. */
export function lacking(...programs: readonly string[]): string {
  const missing = programs.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  return missing.length === 0 ? '' : ` (skipped: needs ${missing.join(', ')})`;
}
