import { setFlagsFromString } from 'node:v8';

/**
 * Limits how far each thread's heap grows between two collections: by default V8 lets it grow to several times its live
 * size. Set elsewhere: `--max-semi-space-size` for the main thread (package.json, deploy; the requests of 256
 * connections end before they are promoted), the other threads' young generation, which it would overrule
 * (platform/thread.ts), and `--max-old-space-size`, which keeps V8 from reserving more on large machines.
 */
export function keepHeapsSmall(): void {
  setFlagsFromString('--max-semi-space-size=0');
  setFlagsFromString('--heap-growing-percent=25');
}
