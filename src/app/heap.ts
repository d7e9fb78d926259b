import { setFlagsFromString } from 'node:v8';

/**
 * Limits how far each thread's heap grows between two collections; V8's default is several times the live size. For the
 * young generation, the main thread has `--max-semi-space-size` (package.json, deploy; the requests of 256 connections
 * end before they are promoted), the others a limit in platform/thread.ts, which that option would overrule.
 */
export function keepHeapsSmall(): void {
  setFlagsFromString('--max-semi-space-size=0');
  setFlagsFromString('--heap-growing-percent=25');
}
