/** How far the process's heaps may grow before they are cleaned. */
import { setFlagsFromString } from 'node:v8';

/**
 * What the service holds is little, and nearly all that it allocates is gone a moment later: V8, left alone, lets the
 * heap of each thread grow to several times of what is in use before it looks. For every thread of the process, those
 * that are started later too.
 */
export function keepHeapsSmall(): void {
  // The young generation of a thread, in megabytes: where what is gone a moment later costs nothing.
  setFlagsFromString('--min-semi-space-size=2');
  setFlagsFromString('--max-semi-space-size=8');
  // The old one is cleaned when it has grown by a quarter.
  setFlagsFromString('--heap-growing-percent=25');
}
