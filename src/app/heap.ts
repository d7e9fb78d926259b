import { setFlagsFromString } from 'node:v8';

/**
 * Limits how far each thread's heap grows between two collections; V8's default is several times the live size. The young
 * generation of the main thread is three times `--max-semi-space-size` (package.json, deploy); with `ROLE=receiver` the
 * main thread receives, and has more of it. The others have a limit in platform/thread.ts, which that option would
 * overrule.
 */
export function keepHeapsSmall(): void {
  setFlagsFromString('--max-semi-space-size=0');
  setFlagsFromString('--heap-growing-percent=25');
}
