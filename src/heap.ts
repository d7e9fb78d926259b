/** How far the process's heaps may grow before they are cleaned. */
import { setFlagsFromString } from 'node:v8';

/**
 * What the service holds is little, and nearly all that it allocates is gone a moment later: V8, left alone, lets the
 * heap of each thread grow to several times of what is in use before it looks. For every thread of the process, those
 * that are started later too.
 *
 * The young generation of the main thread cannot be limited from within: `--max-semi-space-size` does that when Node
 * starts (package.json, scripts/deploy); beside it, `--max-old-space-size` lets V8 take less ahead on large machines.
 * Those of other threads are limited one by one (store/thread.ts), which that option would overrule.
 */
export function keepHeapsSmall(): void {
  setFlagsFromString('--max-semi-space-size=0');
  // The old generation is cleaned when it has grown by a quarter.
  setFlagsFromString('--heap-growing-percent=25');
}
