/** The mirror under measurement: compiled, as the package has it, and started as `scripts/deploy` starts it. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Child, type Environment } from './child.ts';

/** What keeps the process small: V8's young generation of the main thread, and the C library's heaps. */
export const LEAN: Environment = { NODE_OPTIONS: '--max-semi-space-size=8', MALLOC_ARENA_MAX: '2' };

export function buildMirror(): void {
  execFileSync(process.execPath, [join(import.meta.dirname, '../build.ts')], { stdio: 'inherit' });
}

export function startMirror(env: Environment, folder: string): Child {
  return new Child('../../dist/main.js', [], { ...LEAN, ...env }, folder);
}
