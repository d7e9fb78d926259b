import { setFlagsFromString } from 'node:v8';

/**
 * Limits how far the heap of each thread grows between two collections. The mirror allocates mostly short-lived
 * garbage; by default V8 lets a heap grow to several times its live size.
 *
 * Two limits are set elsewhere: the main thread's young generation by `--max-semi-space-size` when Node starts
 * (package.json, deploy; large enough for the requests of 256 connections to end before they are promoted), and those
 * of other threads in platform/thread.ts, which that option would overrule. `--max-old-space-size` keeps V8 from
 * reserving more on large machines.
 */
export function keepHeapsSmall(): void {
  setFlagsFromString('--max-semi-space-size=0');
  // Collect the old generation when it has grown by a quarter.
  setFlagsFromString('--heap-growing-percent=25');
}
