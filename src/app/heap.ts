/** How far the process's heaps may grow between two collections. */
import { setFlagsFromString } from 'node:v8';

/**
 * The mirror holds little, and nearly all that it allocates is garbage a moment later: left alone, V8 lets the heap
 * of each thread grow to several times what is in use before it collects. The setting applies to every thread of the
 * process, those started later included.
 *
 * The young generation of the main thread cannot be limited from within: `--max-semi-space-size` does that when Node
 * starts (package.json, deploy): less than V8 would take, and enough for the requests of 256 connections to end before
 * they are promoted; beside it, `--max-old-space-size` makes V8 take less ahead on large
 * machines. Those of other threads are limited one by one (platform/thread.ts), which that option would overrule.
 */
export function keepHeapsSmall(): void {
  setFlagsFromString('--max-semi-space-size=0');
  // The old generation is collected when it has grown by a quarter.
  setFlagsFromString('--heap-growing-percent=25');
}
