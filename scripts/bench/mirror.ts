/** The mirror under measurement: compiled, as the package has it, and started as `deploy` starts it. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Child, type Environment } from './child.ts';

/**
 * What keeps the process small: V8's young generation of the main thread; a bound below which V8 takes less ahead; few
 * heaps of the C library, which give back what is large and free.
 */
export const LEAN: Environment = {
  NODE_OPTIONS: '--max-semi-space-size=16 --max-old-space-size=2000',
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};

/** The priority that `deploy` gives it before other programs of the machine. */
export const NICE = -10;

export function buildMirror(): void {
  execFileSync(process.execPath, [join(import.meta.dirname, '../build.ts')], { stdio: 'inherit' });
}

export function startMirror(env: Environment, folder: string): Child {
  return new Child('../../dist/main.js', [], { ...LEAN, ...env }, folder);
}
